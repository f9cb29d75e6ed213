#include "config/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/str_cat.h"

namespace flexor::config {

const Value* Value::find(std::string_view key) const {
  const auto found = std::find_if(members.begin(), members.end(), [key](const Member& m) { return m.key == key; });
  return found == members.end() ? nullptr : &found->value;
}

Value* Value::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

Value Value::null(std::string place) {
  Value value;
  value.place = std::move(place);
  return value;
}

Value Value::map(std::string place) {
  Value value;
  value.kind = Kind::kMap;
  value.place = std::move(place);
  return value;
}

Value Value::scalar(std::string text, std::string place) {
  Value value;
  value.kind = Kind::kScalar;
  value.text = std::move(text);
  value.place = std::move(place);
  return value;
}

namespace {

/// The text, or its start if it is long: a wrong file given as a configuration is one huge scalar.
std::string first_bytes(const std::string& text) {
  constexpr size_t kMost = 200;
  if (text.size() <= kMost) {
    return text;
  }
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {  // within a UTF-8 sequence
    --end;
  }
  return str_cat(text.substr(0, end), "... (", text.size(), " bytes)");
}

}  // namespace

std::string shown(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kScalar:
      return "'" + first_bytes(value.text) + "'";
    case Value::Kind::kList:
      return str_cat("a list of ", value.items.size());
    default:
      return value.members.empty() ? "an empty map" : str_cat("a map with the key '", value.members.front().key, "'");
  }
}

bool read_float(std::string_view text, double& number) {
  std::string digits(text);
  std::erase(digits, '_');
  std::string_view rest = digits;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) {
    rest.remove_prefix(1);
  }
  constexpr std::string_view kInfinities[] = {".inf", ".Inf", ".INF", "inf"};
  constexpr std::string_view kNans[] = {".nan", ".NaN", ".NAN", "nan"};
  if (std::find(std::begin(kInfinities), std::end(kInfinities), rest) != std::end(kInfinities)) {
    number = negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    return true;
  }
  if (std::find(std::begin(kNans), std::end(kNans), rest) != std::end(kNans)) {
    number = std::numeric_limits<double>::quiet_NaN();
    return true;
  }
  if (rest.empty() || (rest[0] != '.' && (rest[0] < '0' || rest[0] > '9'))) {
    return false;
  }
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  number = negative ? -number : number;
  return code == std::errc() && end == rest.data() + rest.size();
}

bool read_int(std::string_view text, int64_t& number) {
  std::string digits(text);
  std::erase(digits, '_');
  std::string_view rest = digits;
  if (rest.starts_with('+')) {
    rest.remove_prefix(1);
  }
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (code == std::errc() && end == rest.data() + rest.size() && text.find_first_not_of('_') == 0) {
    return true;
  }
  constexpr double kLimit = 9007199254740992.0;  // 2^53: floats beyond are no longer every integer
  double value = 0.0;
  if (read_float(text, value) && std::trunc(value) == value && std::abs(value) <= kLimit) {
    number = static_cast<int64_t>(value);
    return true;
  }
  return false;
}

namespace {

Json scalar_to_json(const Value& value) {
  if (value.quoted) {
    return Json(value.text);
  }
  const std::string& text = value.text;
  if (text == "true" || text == "True" || text == "TRUE") {
    return Json(true);
  }
  if (text == "false" || text == "False" || text == "FALSE") {
    return Json(false);
  }
  int64_t integer = 0;
  const bool has_point = text.find_first_of(".eEnN") != std::string::npos;
  if (!has_point && read_int(text, integer)) {
    return Json(integer);
  }
  double number = 0.0;
  if (text != "inf" && text != "nan" && read_float(text, number)) {
    return Json(number);
  }
  return Json(text);
}

}  // namespace

Json to_json(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return Json();
    case Value::Kind::kScalar:
      return scalar_to_json(value);
    case Value::Kind::kList: {
      Json list = Json::array();
      for (const Value& item : value.items) {
        list.push_back(to_json(item));
      }
      return list;
    }
    default: {
      Json::Object object;
      for (const auto& [key, member] : value.members) {
        object.emplace_back(key, to_json(member));
      }
      return Json(std::move(object));
    }
  }
}

Value from_json(const Json& json, const std::string& place) {
  Value value = Value::null(place);
  if (json.is_object()) {
    value.kind = Value::Kind::kMap;
    for (const auto& [key, member] : json.as_object()) {
      value.members.push_back({key, from_json(member, place)});
    }
  } else if (json.is_array()) {
    value.kind = Value::Kind::kList;
    for (const Json& element : json.as_array()) {
      value.items.push_back(from_json(element, place));
    }
  } else if (json.is_string()) {
    value = Value::scalar(json.as_string(), place);
    value.quoted = true;
  } else if (!json.is_null()) {
    const bool is_finite = !json.is_number() || std::isfinite(json.as_double());
    const double number = is_finite ? 0.0 : json.as_double();
    value = Value::scalar(is_finite ? json.dump() : std::isnan(number) ? ".nan" : number < 0 ? "-.inf" : ".inf", place);
  }
  return value;
}

}  // namespace flexor::config
