#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace flexor {

/// A JSON value. Objects keep the order of their keys. Integers and floats are distinct, as they are in the text.
/// The Python literals NaN, Infinity and -Infinity are read and written, since the reference programs do both.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;
  Json(std::nullptr_t) {}                                       // NOLINT(google-explicit-constructor)
  Json(bool value) : value_(value) {}                           // NOLINT(google-explicit-constructor)
  Json(int value) : value_(int64_t{value}) {}                   // NOLINT(google-explicit-constructor)
  Json(int64_t value) : value_(value) {}                        // NOLINT(google-explicit-constructor)
  Json(size_t value) : value_(static_cast<int64_t>(value)) {}   // NOLINT(google-explicit-constructor)
  Json(double value) : value_(value) {}                         // NOLINT(google-explicit-constructor)
  Json(const char* value) : value_(std::string(value)) {}       // NOLINT(google-explicit-constructor)
  Json(std::string_view value) : value_(std::string(value)) {}  // NOLINT(google-explicit-constructor)
  Json(std::string value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Json(Array value) : value_(std::move(value)) {}               // NOLINT(google-explicit-constructor)
  Json(Object value) : value_(std::move(value)) {}              // NOLINT(google-explicit-constructor)
  template <typename T>
  Json(const std::vector<T>& values) : value_(Array(values.begin(), values.end())) {}  // NOLINT

  static Json array() { return Json(Array{}); }
  static Json object() { return Json(Object{}); }
  static Json object(std::initializer_list<Member> members) { return Json(Object(members)); }

  /// @param where  the place that an error names, usually the file
  /// @throws Error(kData) with line and column if `text` is not one JSON value
  static Json parse(std::string_view text, const std::string& where);
  /// Reads and parses a whole file. @throws Error(kFile) or Error(kData)
  static Json read_file(const std::string& path);

  /// Text of this value: one line for indent < 0, else indented like Python's json.dump(indent=...,
  /// ensure_ascii=False). Floats take the shortest form that reads back equal.
  std::string dump(int indent = -1) const;

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<int64_t>(value_); }
  bool is_number() const { return is_int() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  std::string_view type_name() const;  ///< "null", "bool", "int", "float", "string", "array", "object"

  // Checked reads: @throws Error(kData) that says the wanted and the found type and shows the value. A part of a
  // temporary comes by value, so that `for (const Json& x : Json::read_file(f).at("list").as_array())` is safe.
  bool as_bool() const;
  int64_t as_int() const;    ///< also a float without fraction
  double as_double() const;  ///< also an integer
  const std::string& as_string() const&;
  std::string as_string() &&;
  const Array& as_array() const&;
  Array& as_array() &;
  Array as_array() &&;
  const Object& as_object() const&;
  Object& as_object() &;
  Object as_object() &&;
  /// Numbers of an array of any depth, row-major; a plain number is one value, booleans are 0 and 1.
  std::vector<double> as_numbers() const;
  std::vector<std::string> as_strings() const;

  const Json* find(std::string_view key) const&;  ///< null if absent or if this is no object
  Json* find(std::string_view key) &;
  const Json* find(std::string_view key) const&& = delete;  ///< would point into a temporary
  const Json& at(std::string_view key) const&;              ///< @throws Error(kData) naming the key
  Json at(std::string_view key) &&;
  Json& operator[](std::string_view key) &;  ///< inserts null at the end; turns a null value into an object
  void push_back(Json value);                ///< turns a null value into an array
  bool erase(std::string_view key);
  size_t size() const;  ///< members or elements; 0 for everything else

  friend bool operator==(const Json& a, const Json& b) = default;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

}  // namespace flexor
