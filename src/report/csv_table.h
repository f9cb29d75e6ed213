#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flexor::report {

/// Rows of comma-separated values (RFC 4180) under a header. Numbers take the shortest text that reads back equal; what
/// is not finite or null is an empty field, and texts are quoted where they need it.
class CsvTable {
 public:
  explicit CsvTable(std::initializer_list<std::string_view> columns);

  CsvTable& add(std::string_view text);
  CsvTable& add(const std::string& text) { return add(std::string_view(text)); }
  CsvTable& add(const char* text) { return add(std::string_view(text)); }
  CsvTable& add(double value);
  CsvTable& add(int64_t value);
  CsvTable& add(std::optional<double> value);
  /// Ends the row. Every row has as many fields as the header.
  void end_row();

  const std::string& str() const { return text_; }

 private:
  void separate();

  size_t num_columns_, fields_ = 0;
  std::string text_;
};

}  // namespace flexor::report
