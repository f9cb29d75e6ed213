#include "base/json.h"

#include <cmath>

#include "base/error.h"
#include "base/str_cat.h"

namespace flexor {
namespace {

/// The value as an error shows it: at most some 60 characters.
std::string excerpt(const Json& value) {
  constexpr size_t kMaxSize = 60;
  if (value.size() > kMaxSize) {
    return str_cat("one with ", value.size(), " entries");
  }
  std::string text = value.dump();
  if (text.size() > kMaxSize) {
    text.resize(kMaxSize);
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) {
      text.pop_back();  // no half of a UTF-8 character
    }
    text += "...";
  }
  return text;
}

[[noreturn]] void wrong_type(std::string_view wanted, const Json& value) {
  const std::string found = value.is_null() ? "null" : str_cat(value.type_name(), " ", excerpt(value));
  throw Error(ErrorKind::kData, str_cat("expected ", wanted, ", found ", found));
}

void append_numbers(const Json& value, std::vector<double>& out) {
  if (value.is_array()) {
    for (const Json& element : value.as_array()) {
      append_numbers(element, out);
    }
  } else if (value.is_bool()) {
    out.push_back(value.as_bool() ? 1.0 : 0.0);
  } else if (value.is_number()) {
    out.push_back(value.as_double());
  } else {
    wrong_type("a number", value);
  }
}

}  // namespace

std::string_view Json::type_name() const {
  constexpr std::string_view kNames[] = {"null", "bool", "int", "float", "string", "array", "object"};
  return kNames[value_.index()];
}

bool Json::as_bool() const {
  if (const bool* value = std::get_if<bool>(&value_)) {
    return *value;
  }
  wrong_type("a bool", *this);
}

int64_t Json::as_int() const {
  if (const int64_t* value = std::get_if<int64_t>(&value_)) {
    return *value;
  }
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (const double* value = std::get_if<double>(&value_);
      value != nullptr && std::trunc(*value) == *value && *value >= -kLimit && *value < kLimit) {
    return static_cast<int64_t>(*value);
  }
  wrong_type("an integer", *this);
}

double Json::as_double() const {
  if (const double* value = std::get_if<double>(&value_)) {
    return *value;
  }
  if (const int64_t* value = std::get_if<int64_t>(&value_)) {
    return static_cast<double>(*value);
  }
  wrong_type("a number", *this);
}

const std::string& Json::as_string() const& {
  if (const std::string* value = std::get_if<std::string>(&value_)) {
    return *value;
  }
  wrong_type("a string", *this);
}

std::string Json::as_string() && {
  return std::move(const_cast<std::string&>(std::as_const(*this).as_string()));
}

const Json::Array& Json::as_array() const& {
  if (const Array* value = std::get_if<Array>(&value_)) {
    return *value;
  }
  wrong_type("an array", *this);
}

Json::Array& Json::as_array() & {
  return const_cast<Array&>(std::as_const(*this).as_array());
}

Json::Array Json::as_array() && {
  return std::move(as_array());  // of the lvalue *this
}

const Json::Object& Json::as_object() const& {
  if (const Object* value = std::get_if<Object>(&value_)) {
    return *value;
  }
  wrong_type("an object", *this);
}

Json::Object& Json::as_object() & {
  return const_cast<Object&>(std::as_const(*this).as_object());
}

Json::Object Json::as_object() && {
  return std::move(as_object());
}

std::vector<double> Json::as_numbers() const {
  std::vector<double> numbers;
  append_numbers(*this, numbers);
  return numbers;
}

std::vector<std::string> Json::as_strings() const {
  std::vector<std::string> strings;
  for (const Json& element : as_array()) {
    strings.push_back(element.as_string());
  }
  return strings;
}

const Json* Json::find(std::string_view key) const& {
  if (const Object* object = std::get_if<Object>(&value_)) {
    for (const auto& [name, value] : *object) {
      if (name == key) {
        return &value;
      }
    }
  }
  return nullptr;
}

Json* Json::find(std::string_view key) & {
  return const_cast<Json*>(std::as_const(*this).find(key));
}

const Json& Json::at(std::string_view key) const& {
  as_object();  // for the better message when this is none
  if (const Json* value = find(key)) {
    return *value;
  }
  throw Error(ErrorKind::kData, str_cat("the key '", key, "' is missing in ", excerpt(*this)));
}

Json Json::at(std::string_view key) && {
  return std::move(const_cast<Json&>(std::as_const(*this).at(key)));
}

Json& Json::operator[](std::string_view key) & {
  if (is_null()) {
    value_ = Object{};
  }
  if (Json* value = find(key)) {
    return *value;
  }
  return as_object().emplace_back(std::string(key), Json()).second;
}

void Json::push_back(Json value) {
  if (is_null()) {
    value_ = Array{};
  }
  as_array().push_back(std::move(value));
}

bool Json::erase(std::string_view key) {
  return is_object() && std::erase_if(as_object(), [key](const Member& member) { return member.first == key; }) > 0;
}

size_t Json::size() const {
  if (const Array* array = std::get_if<Array>(&value_)) {
    return array->size();
  }
  if (const Object* object = std::get_if<Object>(&value_)) {
    return object->size();
  }
  return 0;
}

}  // namespace flexor
