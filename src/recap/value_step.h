#pragma once
#include <memory>

#include "dist/shared_work.h"
#include "recap/recap_config.h"
#include "recap/training_folder.h"

namespace flexor::recap {

using ValueReport = TrainingReport;

/// RECAP's step 2: trains the value model on the returns of step 1. Writes OUT/value (see ValueRun) with config.yaml,
/// metrics.jsonl and TensorBoard events. A run that is not resumed replaces an earlier one.
/// @param group  of meet_ranks(): the ranks that share the training
/// @throws Error(kConfig), Error(kFile), Error(kData), Error(kCheckpoint) before anything is trained or replaced;
///         Error(kRuntime) for a loss that stays not finite; Error(kInterrupted), Error(kTerminated) after a checkpoint
ValueReport train_value(const RecapConfig& config, const std::shared_ptr<dist::Group>& group = dist::group_of_one());

}  // namespace flexor::recap
