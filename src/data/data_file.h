#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "data/column.h"
#include "data/dataset_info.h"
#include "data/finding.h"
#include "table/parquet_reader.h"

namespace flexor::data {

/// Rows of one episode that follow each other in a file, and where they are in FileRows::columns.
struct Run {
  int64_t episode_index = 0, first_row = 0, count = 0;
  int64_t offset = 0;
  bool is_selected = false;
};

struct FileRows {
  std::string file;  ///< relative to the root
  std::vector<Run> runs;
  std::vector<Column> columns;    ///< one per wanted feature, only selected rows; width 0: not in this file
  std::vector<Finding> findings;  ///< of check_columns()
};

/// The kind of values that a numeric feature's column should hold.
table::ValueKind numeric_kind(const FeatureInfo& feature);

/// A column without values, in the type that info.json declares.
Column empty_column(const FeatureInfo& feature);

/// Appends elements [first, first + count) of `from`, converted to the type of `to`.
void append_values(const Column& from, int64_t first, int64_t count, Column& to);

/// Reads the features `wanted` of one data file, row group by row group. A column frame_index may be missing.
/// @param file  relative to the root
/// @throws Error(kFile), Error(kData)
FileRows read_data_file(const DatasetInfo& info, const std::string& file, const std::vector<const FeatureInfo*>& wanted,
                        int64_t episode_index);  ///< a file that holds exactly this episode (v2.x)
FileRows read_data_file(
    const DatasetInfo& info, const std::string& file, const std::vector<const FeatureInfo*>& wanted,
    const std::set<int64_t>& episodes);  ///< a file of several episodes (v3.0), of which these are kept

}  // namespace flexor::data
