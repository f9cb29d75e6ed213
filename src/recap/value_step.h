#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "recap/recap_config.h"

namespace flexor::recap {

/// What a finished value training did.
struct ValueReport {
  std::string folder;      ///< OUT/value
  std::string checkpoint;  ///< the last one
  std::string best;        ///< by the validation loss, the last one without validation
  int64_t steps = 0;
  double final_loss = 0;                     ///< mean of the last 50 steps
  double samples_per_s = 0;                  ///< without the first steps
  int64_t best_step = -1;                    ///< -1: not validated
  std::map<std::string, double> validation;  ///< metrics of the last validation, without "eval/"
};

/// RECAP's step 2: trains the value model on the returns of step 1. Writes OUT/value (see ValueRun) with config.yaml,
/// metrics.jsonl and TensorBoard events. A run that is not resumed replaces an earlier one.
/// @throws Error(kConfig), Error(kFile), Error(kData), Error(kCheckpoint) before anything is trained or replaced;
///         Error(kRuntime) for a loss that stays not finite; Error(kInterrupted), Error(kTerminated) after a checkpoint
ValueReport train_value(const RecapConfig& config);

}  // namespace flexor::recap
