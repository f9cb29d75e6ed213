#pragma once
#include <arrow/api.h>
#include <memory>
#include <string>

#include "table/row_copy.h"

// Arrow behind row_copy.h. Included by table/*.cpp only.
namespace flexor::table {

struct Rows::State {
  std::string path;
  int64_t first_row = 0;  ///< in the file, for messages
  std::shared_ptr<arrow::Table> table;
};

/// The column in the type that `column` asks for. @throws Error(kData)
std::shared_ptr<arrow::ChunkedArray> to_form(const arrow::ChunkedArray& values, const RowColumn& column,
                                             const Rows::State& rows);

}  // namespace flexor::table
