#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "curate/rewrite_plan.h"
#include "table/row_copy.h"

namespace flexor::curate {

/// A version of the format that can be written.
enum class TargetVersion { kV21, kV30 };
std::string_view version_name(TargetVersion version);  ///< "v2.1", "v3.0"

/// Limits of the files of v3.0, in MiB (1024^2 bytes); a file is full when the next part would reach it.
struct FileLimits {
  double data_mb = 100, video_mb = 200;
};

/// A column of the data files: how it is written, and its feature in info.json.
struct TableColumn {
  table::RowColumn form;
  data::FeatureInfo feature;
};

/// Columns of the data files, in info.json's order: every feature that is no video and that the first file has. The
/// five numbering columns are always there.
std::vector<TableColumn> table_columns(const RewritePlan& plan);

/// Schema metadata of the data files: the description of the columns that Hugging Face's `datasets` reads. Empty when
/// there is a column that it cannot describe.
std::map<std::string, std::string> table_metadata(const std::vector<TableColumn>& columns, TargetVersion version);

/// meta/info.json of the dataset to be written. Cameras without files are gone; what the format does not know is kept.
/// @throws Error(kData) when v3.0 is wanted and fps is not whole
Json rewritten_info(const RewritePlan& plan, TargetVersion version, const FileLimits& limits);

// Paths of the files, relative to the root.
std::string data_path_v21(int64_t episode, int64_t chunks_size);
std::string video_path_v21(int64_t episode, int64_t chunks_size, const std::string& camera);
std::string data_path_v30(int64_t file_number);
std::string video_path_v30(int64_t file_number, const std::string& camera);

}  // namespace flexor::curate
