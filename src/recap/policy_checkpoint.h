#pragma once
#include <string>

#include "models/policy_model.h"
#include "optim/adamw.h"
#include "optim/ema.h"
#include "recap/policy_setup.h"
#include "recap/recap_config.h"
#include "recap/training_folder.h"
#include "train/progress.h"
#include "train/task.h"

namespace flexor::recap {

/// The folder OUT/policy of a run. A checkpoint holds
///   pretrained_model[_ema]/   what LeRobot, `flexor eval` and `flexor predict` open, and flexor_recap.json
///   training_state/           what `flexor train` keeps too, and policy_state.json
class PolicyRun : public TrainingFolder {
 public:
  /// @param output_dir  OUT, which need not exist
  explicit PolicyRun(const std::string& output_dir)
      : TrainingFolder(output_dir + "/policy", "a RECAP policy", "policy_state.json", "pretrained_model/") {}

  /// `best`, else `last`: .../global_step_N. @throws Error(kFile) if there is neither
  std::string best() const;
};

/// What a checkpoint must agree with when its run goes on, and what it tells about its making.
struct PolicyFacts {
  std::string labels_hash, stats_hash;
  std::string stats_source;
  std::string advantage_tag;
};

/// Writes a checkpoint. @param peak_lr  largest learning rate of the schedule  @return its folder  @throws Error(kFile)
std::string save_policy(const PolicyRun& run, const PolicyStep& step, const PolicyInputs& inputs,
                        const PolicyFacts& facts, models::PolicyModel& model, const train::LoopState& state,
                        const BestValue& best);

/// Fills optimizer, averages and best validation. @param facts  of this run; the source of the statistics becomes the
/// stored one  @throws Error(kFile), Error(kCheckpoint); Error(kData) if labels or statistics are others now
train::Progress load_policy_state(const PolicyRun& run, const PolicyInputs& inputs, PolicyFacts& facts,
                                  models::PolicyModel& model, optim::AdamW& optimizer, optim::Ema* ema,
                                  BestValue& best);

}  // namespace flexor::recap
