#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "train/train_config.h"

namespace flexor::train {

/// A checkpoint of a run: `folder`/{pretrained_model,training_state}.
struct CheckpointRef {
  std::string folder;
  int64_t step = 0;
  std::string pretrained() const { return folder + "/pretrained_model"; }
  std::string training_state() const { return folder + "/training_state"; }
};

/// What stands below run_dir/checkpoints.
struct CheckpointSearch {
  std::optional<CheckpointRef> newest;  ///< by its step, of those that are complete
  std::vector<std::string> skipped;     ///< what is newer but incomplete, with the file that it lacks
};

/// A checkpoint is complete if it has weights, their config.json, the optimizer's state and training_step.json; folders
/// appear complete or not at all, so that others were damaged later.
/// @param at_most  newer ones are not looked at
CheckpointSearch find_checkpoints(const std::string& run_dir, int64_t at_most = INT64_MAX);

/// "000100": the step, with as many digits as the last step has, at least six.
std::string checkpoint_name(int64_t step, int64_t total_steps);

/// What a run does and from where.
struct RunPlan {
  TrainConfig config;  ///< resolved; output_dir is the folder of the run
  std::optional<CheckpointRef> checkpoint;
  std::vector<std::string> skipped;  ///< newer checkpoints that are incomplete
  bool is_resumed = false;           ///< also when there is no checkpoint yet
  bool from_lerobot = false;         ///< the checkpoint is of a run that LeRobot wrote
  int64_t schedule_steps = 0;        ///< length of the run that the schedule is made for
};

/// Reads the configuration and applies the rules of output_dir and resume. Nothing is written.
/// - a new run: output_dir must be missing or empty
/// - resume=true, auto: output_dir goes on, if it is a run; the configuration must agree with its config.yaml. One that
///   is missing or empty starts at step 0; one with other content is refused
/// - resume=DIR: the configuration is DIR's config.yaml (or, in a run of LeRobot, its train_config.json), and only what
///   may change is taken from `sources`
/// steps, log_freq, save_freq, eval_freq, num_workers, prefetch, threads, device and parallel.* may change.
/// @param at_most  checkpoints of later steps do not count
/// @throws Error(kConfig) naming every key that changed with both values; Error(kFile) if DIR is no run
RunPlan plan_run(const config::Sources& sources, int64_t world, int64_t at_most = INT64_MAX);

/// Makes the folder and writes config.yaml. @throws Error(kFile) if it is not writable
void start_run_folder(const RunPlan& plan);

}  // namespace flexor::train
