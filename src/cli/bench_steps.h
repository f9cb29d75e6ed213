#pragma once
#include <cstdint>
#include <vector>

#include "cli/bench_stats.h"
#include "train/trainer.h"

namespace flexor::cli {

/// Seconds of the measured steps and of their parts, one entry a step, and the losses of all steps.
struct StepTimings {
  Timings steps;
  std::vector<double> data_s, forward_s, backward_s, optimizer_s, losses;
  int64_t samples = 0;  ///< of one step
};

/// Takes the steps that train::Trainer takes, without its log, validation and checkpoints.
StepTimings measure_steps(train::TrainerParts& run, int64_t warmup, int64_t steps);

}  // namespace flexor::cli
