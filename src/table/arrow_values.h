#pragma once
#include <arrow/api.h>
#include <cstdint>
#include <string>
#include <vector>

#include "table/parquet_reader.h"

// Arrow arrays to plain vectors. Included by table/*.cpp only.
namespace flexor::table {

/// The type below lists and extension types, and how many lists were around it.
struct LeafType {
  std::shared_ptr<arrow::DataType> type;
  int depth = 0;
  std::optional<int64_t> fixed_width;
};
LeafType leaf_type(const std::shared_ptr<arrow::DataType>& type);
ColumnInfo describe(const arrow::Field& field);

/// Where an error points: file and column.
struct ColumnPlace {
  std::string path, column;
  int64_t first_row = 0;  ///< of the values in the file
};

// Each takes all chunks of one column. @throws Error(kData)
NumericColumn to_numeric(const arrow::ChunkedArray& column, const ColumnPlace& place);
std::vector<std::string> to_texts(const arrow::ChunkedArray& column, const ColumnPlace& place);
std::vector<std::vector<std::string>> to_text_lists(const arrow::ChunkedArray& column, const ColumnPlace& place);
std::vector<ImageCell> to_images(const arrow::ChunkedArray& column, const ColumnPlace& place);
std::vector<std::vector<double>> to_ragged(const arrow::ChunkedArray& column, const ColumnPlace& place);

}  // namespace flexor::table
