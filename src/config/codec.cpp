#include "config/codec.h"

#include <limits>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::config {

void throw_wrong_type(const std::string& type, const Value& value) {
  throw Error(ErrorKind::kConfig, str_cat("expected ", type, ", found ", shown(value)));
}

void check_size(size_t found, size_t expected) {
  if (found != expected) {
    throw Error(ErrorKind::kConfig, str_cat("expected a list of ", expected, ", found ", found));
  }
}

std::vector<Value> list_items(const Value& value, const std::string& type) {
  if (value.is_list()) {
    return value.items;
  }
  if (!value.is_scalar() || !value.comma_list || value.quoted) {
    throw_wrong_type(type, value);
  }
  std::vector<Value> items;
  if (!value.text.empty()) {
    for (const std::string& part : split_text(value.text, ',')) {
      items.push_back(Value::scalar(std::string(trim_text(part)), value.place));
    }
  }
  return items;
}

bool Codec<bool>::read(const Value& value) {
  const Json json = to_json(value);
  if (!json.is_bool()) {
    throw_wrong_type("true or false", value);
  }
  return json.as_bool();
}

int64_t Codec<int64_t>::read(const Value& value) {
  int64_t number = 0;
  if (!value.is_scalar() || value.quoted || !read_int(value.text, number)) {
    throw_wrong_type("an integer", value);
  }
  return number;
}

int Codec<int>::read(const Value& value) {
  const int64_t number = Codec<int64_t>::read(value);
  if (number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max()) {
    throw_wrong_type("an integer of 32 bits", value);
  }
  return static_cast<int>(number);
}

double Codec<double>::read(const Value& value) {
  double number = 0.0;
  if (!value.is_scalar() || value.quoted || !read_float(value.text, number)) {
    throw_wrong_type("a number", value);
  }
  return number;
}

std::string Codec<std::string>::read(const Value& value) {
  if (!value.is_scalar() && !value.is_null()) {
    throw_wrong_type("text", value);
  }
  return value.text;
}

}  // namespace flexor::config
