#pragma once
#include <memory>

#include "dist/shared_work.h"
#include "recap/recap_config.h"
#include "recap/training_folder.h"

namespace flexor::recap {

using PolicyReport = TrainingReport;

/// RECAP's step 4: fine-tunes pi0 or pi0.5 on the labels of step 3, by guidance without a classifier. Writes OUT/policy
/// (see PolicyRun) with config.yaml, metrics.jsonl and TensorBoard events. A run that is not resumed replaces an
/// earlier one.
/// @param group  of meet_ranks(): the ranks that share the training
/// @throws Error(kConfig), Error(kFile), Error(kData), Error(kCheckpoint) before anything is trained or replaced;
///         Error(kRuntime) for a loss that stays not finite; Error(kInterrupted), Error(kTerminated) after a checkpoint
PolicyReport train_policy(const RecapConfig& config, const std::shared_ptr<dist::Group>& group = dist::group_of_one());

}  // namespace flexor::recap
