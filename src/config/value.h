#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace flexor::config {

/// A piece of configuration as it was written, before a field decides its type: "007" is text for one field and a
/// number for another. Maps keep the order of the file.
struct Value {
  enum class Kind { kNull, kScalar, kList, kMap };
  struct Member;

  Kind kind = Kind::kNull;
  std::string text;             ///< of a scalar
  bool quoted = false;          ///< a scalar in quotes is text, whatever it looks like
  bool comma_list = false;      ///< a scalar of the command line: "3,4" may be read as a list
  std::string place;            ///< "run.yaml:12" or "command line"
  std::vector<Value> items;     ///< of a list
  std::vector<Member> members;  ///< of a map, in the order of the file

  bool is_null() const { return kind == Kind::kNull; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }
  Value* find(std::string_view key);
  const Value* find(std::string_view key) const;

  static Value null(std::string place);
  static Value map(std::string place);
  static Value scalar(std::string text, std::string place);
};

struct Value::Member {
  std::string key;
  Value value;
};

/// For error messages: "'abc'", "null", "a list of 3", "a map".
std::string shown(const Value& value);

/// Typed by YAML's core rules: null, true/false, integers, floats (.inf and .nan too), else text.
Json to_json(const Value& value);

/// A JSON value as if it had been written in a configuration at `place`.
Value from_json(const Json& json, const std::string& place);

/// The number in `text`, whole. "1_000" and "1e3" are integers; "inf", ".inf", "nan", ".nan" are floats.
bool read_int(std::string_view text, int64_t& number);
bool read_float(std::string_view text, double& number);

}  // namespace flexor::config
