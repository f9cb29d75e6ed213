#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace flexor::data {

/// A numeric feature of many frames in memory, row-major [rows, width], in the precision it was recorded with
/// (bool as uint8, integers as int64).
struct Column {
  std::string name;
  int64_t width = 1;
  std::variant<std::vector<uint8_t>, std::vector<int64_t>, std::vector<float>, std::vector<double>> values;

  int64_t rows() const;
  double at(int64_t row, int64_t dim = 0) const;
  void copy_row(int64_t row, float* out) const;  ///< `width` values
};

using Columns = std::map<std::string, Column, std::less<>>;

}  // namespace flexor::data
