#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "recap/recap_config.h"

namespace flexor::recap {

/// What step 1 reads of an episode.
struct ScannedEpisode {
  struct Prompt {
    int64_t count;
    std::string text;
  };
  int64_t episode_index = 0, length = 0;
  bool success = true;
  std::vector<int64_t> frame_index;  ///< empty: 0, 1, 2, ...
  std::vector<Prompt> prompts;       ///< runs of frames with the same text
  std::string file;                  ///< relative to the root
};

struct ReturnsScan {
  std::vector<ScannedEpisode> episodes;  ///< in the order of the sorted files
  int64_t num_frames = 0, num_successes = 0;
};

/// Episodes, outcomes and prompts of a dataset from its index columns; pictures and vectors are not read. LeRobot v2.x,
/// v3.0, and folders with data/ alone.
/// @param type         of the entry; sft: no outcome is looked for
/// @param num_threads  files read at once
/// @throws Error(kFile), Error(kData): no data files, an empty file, an episode in two places, an episode without
///         outcome, an outcome that is no truth value
ReturnsScan scan_for_returns(const std::string& root, const DatasetEntry& entry, const std::string& type,
                             int num_threads);

}  // namespace flexor::recap
