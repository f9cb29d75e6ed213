#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "data/dataset_info.h"
#include "data/episode_records.h"
#include "data/finding.h"

namespace flexor::curate {

struct VideosReport {
  std::vector<data::Finding> findings;
  int64_t num_files = 0;  ///< that exist
};

/// Checks the video files of every camera: there for each episode, and what data/video_check.h compares.
/// @param rows    rows of each episode as found in the tables; where unknown, the metadata's length counts
/// @param decode  every picture
VideosReport verify_videos(const data::DatasetInfo& info, const std::vector<data::EpisodeRecord>& records,
                           const std::map<int64_t, int64_t>& rows, bool decode);

}  // namespace flexor::curate
