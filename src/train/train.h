#pragma once
#include <cstdint>
#include <string>

#include "config/load.h"
#include "train/run_folder.h"
#include "train/trainer.h"

namespace flexor::train {

/// What a finished run did.
struct RunResult {
  bool is_main = true;  ///< false on the ranks that only help; their other members are empty or their own
  std::string output_dir;
  std::string checkpoint;  ///< pretrained_model folder of the last checkpoint
  int64_t steps = 0;
  double final_loss = 0;     ///< mean of the last 50 steps
  double samples_per_s = 0;  ///< over all ranks, without the first steps
};

/// `flexor train`: reads the configuration, builds or resumes the run, trains, and prints the closing lines on stdout.
/// @throws Error(kConfig) for the configuration (all problems at once) and the rules of output_dir and resume;
///         Error(kFile), Error(kData), Error(kCheckpoint) for what the run is made of; Error(kRuntime) for a loss that
///         is not finite; Error(kInterrupted), Error(kTerminated) after the step was finished and a checkpoint saved
RunResult run(const config::Sources& sources);

/// What run() trains, ready for its first step, for measuring: nothing is written. Sets threads and determinism of the
/// process. @throws Error as run()
TrainerParts open_run(const RunPlan& plan);

}  // namespace flexor::train
