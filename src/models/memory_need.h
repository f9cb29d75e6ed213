#pragma once
#include <cstdint>
#include <string>

#include "models/policy_model.h"

namespace flexor::models {

/// What decides the memory of a training step beside the model.
struct StepShape {
  int64_t batch_size = 1;
  bool has_masters = false;   ///< bfloat16 parameters are updated in float32 copies
  bool has_ema = false;       ///< a moving average of the parameters is kept
  int64_t state_ranks = 1;    ///< that divide moments, masters and averages among them
  bool from_scratch = false;  ///< else the weights are views of a mapped file until they are updated
};

/// Bytes that a training step holds at once at the very least: weights, moments, masters and averages of what is
/// trained, the activations that the backward pass reads, the attention mask of the suffix. Gradients and what the
/// kernels need on the way come on top. A double, since it may be absurd. @param model  with requires_grad set
double min_training_bytes(PolicyModel& model, const StepShape& step);

/// @throws Error(kRuntime) with both figures if a step cannot fit into this machine's memory
void check_training_memory(PolicyModel& model, const StepShape& step);
/// The same for another owner of memory. @param limit  bytes; 0: no limit is known  @param owner  "cuda:0"
void check_training_memory(PolicyModel& model, const StepShape& step, double limit, const std::string& owner);

}  // namespace flexor::models
