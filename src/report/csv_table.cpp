#include "report/csv_table.h"

#include <cassert>
#include <cmath>

#include "base/float_text.h"
#include "base/str_cat.h"

namespace flexor::report {

CsvTable::CsvTable(std::initializer_list<std::string_view> columns) : num_columns_(columns.size()) {
  for (const std::string_view column : columns) {
    add(column);
  }
  end_row();
}

void CsvTable::separate() {
  text_ += fields_++ == 0 ? "" : ",";
}

CsvTable& CsvTable::add(std::string_view text) {
  separate();
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    text_ += text;
    return *this;
  }
  text_ += '"';
  for (const char c : text) {
    text_ += c == '"' ? "\"\"" : std::string(1, c);
  }
  text_ += '"';
  return *this;
}

CsvTable& CsvTable::add(double value) {
  return add(std::string_view(std::isfinite(value) ? float_text(value) : ""));
}

CsvTable& CsvTable::add(int64_t value) {
  return add(std::string_view(str_cat(value)));
}

CsvTable& CsvTable::add(std::optional<double> value) {
  return add(value.value_or(std::nan("")));
}

void CsvTable::end_row() {
  assert(fields_ == num_columns_);
  text_ += '\n';
  fields_ = 0;
}

}  // namespace flexor::report
