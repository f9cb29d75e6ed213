#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset_info.h"
#include "data/finding.h"

namespace flexor::data {

/// What the metadata says about an episode, before any data file is opened.
struct EpisodeRecord {
  int64_t episode_index = 0;
  int64_t length = 0;
  std::vector<std::string> tasks;
  std::string data_file;                        ///< relative to the root
  std::optional<int64_t> from_index, to_index;  ///< v3.0: half-open range of `index`
  struct Video {
    std::string file;  ///< relative to the root
    double from_s = 0, to_s = 0;
  };
  std::map<std::string, Video, std::less<>> videos;  ///< recorded camera name -> file; without cameras that have none
  std::string place;                                 ///< "meta/episodes.jsonl:3"
};

/// All episodes in ascending order, from meta/episodes.jsonl (v2.x) or meta/episodes/*/*.parquet (v3.0).
/// @param findings  gets duplicate or missing numbers, empty episodes, ranges that do not fit
/// @param broken  gets what cannot be read (a file, a line, an episode that appears twice), and the rest is read;
///                without it that is thrown
/// @throws Error(kFile), Error(kData)
std::vector<EpisodeRecord> read_episode_records(const DatasetInfo& info, std::vector<Finding>& findings,
                                                std::vector<Finding>* broken = nullptr);

/// Compares the totals and splits of info.json with what there is: findings are warnings.
/// @param num_videos  video files that exist, if that was counted
void check_totals(const DatasetInfo& info, const std::vector<EpisodeRecord>& records, int64_t num_tasks,
                  std::optional<int64_t> num_videos, std::vector<Finding>& findings);

}  // namespace flexor::data
