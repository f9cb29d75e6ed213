#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "config/value.h"

namespace flexor::config {

/// How a C++ type is read from and written to a configuration: type() for the manual, read() throwing Error(kConfig)
/// with found and expected, write().
template <typename T>
struct Codec;

/// Throws Error(kConfig): "expected TYPE, found VALUE".
[[noreturn]] void throw_wrong_type(const std::string& type, const Value& value);
/// The elements of a list; of "3,4" on the command line its parts.
std::vector<Value> list_items(const Value& value, const std::string& type);
/// Throws Error(kConfig) if a list does not have the expected number of elements.
void check_size(size_t found, size_t expected);

template <>
struct Codec<bool> {
  static std::string type() { return "bool"; }
  static bool read(const Value& value);
  static Json write(bool value) { return Json(value); }
};

template <>
struct Codec<int64_t> {
  static std::string type() { return "int"; }
  static int64_t read(const Value& value);
  static Json write(int64_t value) { return Json(value); }
};

template <>
struct Codec<int> {
  static std::string type() { return "int"; }
  static int read(const Value& value);
  static Json write(int value) { return Json(value); }
};

template <>
struct Codec<double> {
  static std::string type() { return "float"; }
  static double read(const Value& value);
  static Json write(double value) { return Json(value); }
};

/// null reads as empty text.
template <>
struct Codec<std::string> {
  static std::string type() { return "text"; }
  static std::string read(const Value& value);
  static Json write(const std::string& value) { return Json(value); }
};

/// Anything, typed by YAML's rules.
template <>
struct Codec<Json> {
  static std::string type() { return "any"; }
  static Json read(const Value& value) { return to_json(value); }
  static Json write(const Json& value) { return value; }
};

template <typename T>
struct Codec<std::optional<T>> {
  static std::string type() { return Codec<T>::type() + " or null"; }
  static std::optional<T> read(const Value& value) {
    return value.is_null() ? std::nullopt : std::optional<T>(Codec<T>::read(value));
  }
  static Json write(const std::optional<T>& value) { return value ? Codec<T>::write(*value) : Json(); }
};

template <typename T>
struct Codec<std::vector<T>> {
  static std::string type() { return "list of " + Codec<T>::type(); }
  static std::vector<T> read(const Value& value) {
    std::vector<T> result;
    for (const Value& item : list_items(value, type())) {
      result.push_back(Codec<T>::read(item));
    }
    return result;
  }
  static Json write(const std::vector<T>& values) {
    Json list = Json::array();
    for (const auto& value : values) {
      list.push_back(Codec<T>::write(value));
    }
    return list;
  }
};

template <typename T, size_t N>
struct Codec<std::array<T, N>> {
  static std::string type() { return std::to_string(N) + " x " + Codec<T>::type(); }
  static std::array<T, N> read(const Value& value) {
    const std::vector<Value> items = list_items(value, type());
    check_size(items.size(), N);
    std::array<T, N> result;
    for (size_t i = 0; i < N; ++i) {
      result[i] = Codec<T>::read(items[i]);
    }
    return result;
  }
  static Json write(const std::array<T, N>& values) {
    Json list = Json::array();
    for (const auto& value : values) {
      list.push_back(Codec<T>::write(value));
    }
    return list;
  }
};

template <typename T>
struct Codec<std::map<std::string, T>> {
  static std::string type() { return "map to " + Codec<T>::type(); }
  static std::map<std::string, T> read(const Value& value) {
    if (!value.is_map() && !value.is_null()) {
      throw_wrong_type(type(), value);
    }
    std::map<std::string, T> result;
    for (const auto& [key, member] : value.members) {
      result.emplace(key, Codec<T>::read(member));
    }
    return result;
  }
  static Json write(const std::map<std::string, T>& values) {
    Json object = Json::object();
    for (const auto& [key, value] : values) {
      object[key] = Codec<T>::write(value);
    }
    return object;
  }
};

}  // namespace flexor::config
