#pragma once
#include <memory>
#include <string>
#include <vector>

#include "config/load.h"
#include "dist/shared_work.h"
#include "recap/recap_config.h"
#include "recap/value_step.h"

namespace flexor::recap {

/// STEAM's training: the ensemble that predicts the signed stride between two frames; needs no returns. Every step
/// trains the members one after the other, each on fresh batches with an optimizer step of its own. Writes OUT/value as
/// train_value does; checkpoints hold config.json and model.safetensors with all members. Rows of metrics.jsonl count
/// optimizer steps of all members in `step` and of each member in `global_step`.
/// @param group  of meet_ranks(): the ranks that share the training  @throws as train_value
ValueReport train_steam(const RecapConfig& config, const std::shared_ptr<dist::Group>& group = dist::group_of_one());

/// Joins the members of several ensembles of the same kind into OUTPUT_DIR/value/checkpoints/global_step_0, with the
/// links last and best. @param folders  .../global_step_N  @param sources  output_dir is taken from them
/// @return its folder  @throws Error(kFile), Error(kCheckpoint), Error(kConfig) if the ensembles differ
std::string merge_steam(const std::vector<std::string>& folders, const config::Sources& sources);

}  // namespace flexor::recap
