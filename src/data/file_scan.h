#pragma once
#include <functional>
#include <string>
#include <vector>

#include "data/column_summary.h"
#include "data/data_file.h"
#include "data/dataset_info.h"
#include "data/finding.h"
#include "table/parquet_reader.h"

namespace flexor::data {

/// Features of info.json that a data file lacks, or holds with another type. Features that come and go by design are
/// left out: frame_index (the row number is used), language columns, videos, RECAP's returns.
/// @param file  relative to the root
/// @returns     code column_missing or column_type, severity kError
std::vector<Finding> check_columns(const table::ParquetReader& reader, const DatasetInfo& info,
                                   const std::string& file);

/// Runs of equal episode_index, in file order; all are selected, their offset is the first row.
/// @throws Error(kData)
std::vector<Run> find_runs(const table::ParquetReader& reader);

/// Reads one numeric feature of a file, a few thousand rows at a time, cut at the runs.
/// @param runs  ascending, at least a row each; rows between them are left out
/// @param body  gets the number of the run
/// @throws Error(kData): a null or a ragged row, another width than declared, a damaged page
void scan_column(const table::ParquetReader& reader, const FeatureInfo& feature, const std::vector<Run>& runs,
                 const std::function<void(size_t run, const ColumnPiece& piece)>& body);

}  // namespace flexor::data
