#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "data/dataset_info.h"
#include "data/finding.h"

namespace flexor::curate {

/// The frames of one camera in one episode: all of a file, or a run of it.
struct SourceVideo {
  std::string path;
  int64_t first_frame = 0;
  int64_t num_frames = -1;  ///< -1: the whole file (v2.x)
};

/// One episode of a dataset that is read to be written again.
struct SourceEpisode {
  int64_t episode_index = 0;
  int64_t length = 0;               ///< frames
  int64_t first_index = 0;          ///< `index` of its first frame
  std::vector<std::string> tasks;   ///< as listed, in no particular order
  Json extra;                       ///< what else its metadata say, an object; null for nothing
  std::string data_file;            ///< absolute; empty for an episode that is left out
  int64_t first_row = 0;            ///< in data_file
  std::vector<SourceVideo> videos;  ///< one per SourceDataset::cameras
};

/// Metadata of a dataset of any version, and where its rows and pictures are. No values are in memory.
struct SourceDataset {
  data::DatasetInfo info;
  std::vector<std::pair<int64_t, std::string>> tasks;  ///< task_index, text; ascending
  std::vector<data::FeatureInfo> cameras;              ///< of dtype video and with files, depth ones included
  std::vector<std::string> absent_cameras;             ///< without a file in any episode
  std::vector<SourceEpisode> episodes;                 ///< ascending
  std::vector<data::Finding> findings;                 ///< oddities, none of them an error

  int64_t num_frames() const;
  /// Number of the camera in `cameras`, -1 if there is none.
  int64_t camera_number(std::string_view name) const;
};

/// @param left_out  episodes that nothing will be taken of: their files may be missing or broken
/// @throws Error(kFile), Error(kData) for a dataset that training refuses, as far as metadata, row counts and the
///         presence of files show it
SourceDataset open_source(const std::string& root, const std::set<int64_t>& left_out = {});

}  // namespace flexor::curate
