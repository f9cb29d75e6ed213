#pragma once
#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace flexor::data {

/// Episodes (episode_index, ascending) to train on and to hold out.
struct EpisodeSplit {
  std::vector<int64_t> train, held_out;
};

/// Of the episodes that share their first task, the last ceil(n * eval_split) are held out, as LeRobot does. Where that
/// would leave nothing to train on (every task recorded once), the last ceil(n * eval_split) of all episodes are, with
/// a warning.
/// @throws Error(kConfig) unless 0 <= eval_split < 1, or when there is nothing to train on either way
EpisodeSplit split_episodes(const Dataset& dataset, double eval_split);

}  // namespace flexor::data
