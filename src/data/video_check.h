#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset_info.h"
#include "data/finding.h"

namespace flexor::data {

/// The part of a video file that belongs to one episode.
struct VideoUse {
  int64_t episode_index = 0, length = 0;  ///< frames
  double from_s = 0, to_s = 0;            ///< to_s = 0: the metadata do not say
};

/// A video file and everything that the tables want of it.
struct VideoNeed {
  const FeatureInfo* camera = nullptr;
  std::string file;  ///< relative to the root
  std::vector<VideoUse> uses;
};

struct VideoCheckOptions {
  bool is_whole = true;  ///< all episodes of the dataset are among the uses
  bool decode = false;   ///< decode every picture that an episode needs
};

/// Compares one file with what is needed of it: readable and whole, long enough, frame rate, size and format as
/// info.json says, presentation times on the grid of the frames, a key frame where an episode starts, episodes apart.
std::vector<Finding> check_video(const DatasetInfo& info, const VideoNeed& need, const VideoCheckOptions& options);

}  // namespace flexor::data
