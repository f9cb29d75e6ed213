#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "recap/recap_config.h"

namespace flexor::recap {

/// What step 1 made of one dataset.
struct ReturnsReport {
  std::string name = {}, type = {}, sidecar = {};
  int64_t episodes = 0, successes = 0, frames = 0;
  Json return_stats, reward_stats;  ///< {mean, std, min, max}
};

/// Step 1: rewards and returns of all frames of `config.returns.data`, written to META/returns[_TAG].parquet in each
/// dataset (or into its copy at output_path), the statistics merged into META/stats.json, the features into
/// META/info.json. All datasets are read and checked before the first file is written; every file appears whole or not
/// at all.
/// Columns: episode_index int64, frame_index int64, return float32, reward float32, prompt string, in the order of the
/// sorted data files. The statistics stand in the file's metadata too, so that each tag keeps its own.
/// @throws Error(kConfig), Error(kFile), Error(kData)
std::vector<ReturnsReport> compute_returns(const RecapConfig& config);

}  // namespace flexor::recap
