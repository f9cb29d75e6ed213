#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/column.h"
#include "data/dataset_info.h"
#include "data/episode_records.h"
#include "data/finding.h"

namespace flexor::data {

/// Columns of the selected episodes, one episode after the other, and where their rows were found.
struct LoadedColumns {
  struct Rows {
    std::string data_file;  ///< absolute
    int64_t first_row = 0;  ///< in data_file
    int64_t count = 0;
  };
  Columns columns;             ///< by feature name (after the rename map)
  std::vector<Rows> episodes;  ///< one per selected record
};

/// Where rows of an episode were found: runs of equal episode_index.
struct RowsPlace {
  std::string file;  ///< relative to the root
  int64_t count = 0;
};
/// Displaced, split and missing rows, counts that disagree with `length`; nothing when all is well.
std::optional<Finding> check_rows_place(const EpisodeRecord& record, const std::vector<RowsPlace>& found);

/// Files below root/folder with that extension, symbolic links followed, sorted, relative to the root.
std::vector<std::string> list_files(const std::string& root, const std::string& folder, const std::string& extension);

/// Reads the numeric features `wanted` of the episodes `selected`, several files at a time.
/// A v3.0 episode whose rows stand in another file than its metadata says is found there and reported.
/// @param findings  gets displaced, split and missing rows, counts that disagree with `length`, types that disagree
/// @throws Error(kFile), Error(kData) for what cannot be read at all: a missing file or column, a null, a ragged row
LoadedColumns load_columns(const DatasetInfo& info, const std::vector<const EpisodeRecord*>& selected,
                           const std::vector<const FeatureInfo*>& wanted, std::vector<Finding>& findings);

}  // namespace flexor::data
