#include "models/memory_need.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "base/memory.h"
#include "base/str_cat.h"
#include "nn/named_params.h"
#include "tensor/tensor.h"

namespace flexor::models {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

double parameter_bytes(PolicyModel& model, const StepShape& step) {
  double bytes = 0;
  nn::for_each_param(model, [&](const std::string&, Tensor& parameter) {
    const auto count = static_cast<double>(parameter.numel());
    const auto own = static_cast<double>(parameter.element_size());
    const bool has_master = step.has_masters && own < sizeof(float);
    if (parameter.requires_grad()) {
      const double moments = 2 * (has_master ? sizeof(float) : own);
      const double copies = (has_master ? sizeof(float) : 0.0) + (step.has_ema ? sizeof(float) : 0.0);
      bytes += count * (own + (moments + copies) / static_cast<double>(step.state_ranks));
    } else if (step.from_scratch) {
      bytes += count * own;
    }
  });
  return bytes;
}

/// Axes: B batch, S suffix tokens, N picture tokens, D and W widths of the two stacks.
double activation_bytes(const schema::PolicyConfig& config, int64_t batch_size, bool recomputes) {
  constexpr double kTensorsPerLayer = 3;  // inputs of a norm, of the attention and of the MLP
  const schema::Architecture sizes = config.sizes();
  const double side = std::floor(static_cast<double>(config.image_resolution[0]) /
                                 static_cast<double>(std::max<int64_t>(1, sizes.vision.patch_size)));
  const auto B = static_cast<double>(batch_size), S = static_cast<double>(config.chunk_size);
  const double N = side * side;  // of one camera: the others may be masked out
  const auto D = static_cast<double>(sizes.paligemma.width), W = static_cast<double>(sizes.action_expert.width);
  const double element = config.dtype == "bfloat16" ? 2.0 : 4.0;
  const double kept = static_cast<double>(sizes.paligemma.depth) * (recomputes ? 1.0 : kTensorsPerLayer);
  const double kept_of_prefix = config.train_expert_only ? 1.0 : kept;
  const double mask = S * (N + S);  // one byte each; once for the whole batch
  const double chunks = 4 * B * S * static_cast<double>(config.max_action_dim) * sizeof(float);
  return B * (N * D * kept_of_prefix + S * W * kept) * element + mask + chunks;
}

}  // namespace

double min_training_bytes(PolicyModel& model, const StepShape& step) {
  return parameter_bytes(model, step) +
         activation_bytes(model.config(), step.batch_size, model.options().gradient_checkpointing);
}

void check_training_memory(PolicyModel& model, const StepShape& step) {
  check_training_memory(model, step, static_cast<double>(memory_limit_bytes()), "this machine");
}

void check_training_memory(PolicyModel& model, const StepShape& step, double limit, const std::string& owner) {
  const double needed = min_training_bytes(model, step);
  if (limit <= 0 || needed <= limit) {
    return;
  }
  const auto shown = [](double bytes) { return str_cat(std::round(bytes / kGiB * 10) / 10, " GiB"); };
  const schema::PolicyConfig& config = model.config();
  throw Error(ErrorKind::kRuntime,
              str_cat("a training step needs at least ", shown(needed), " of memory, ", owner, " has ", shown(limit)),
              str_cat("batch_size ", step.batch_size, ", policy.chunk_size ", config.chunk_size, ", pictures of ",
                      config.image_resolution[0], " pixels, ", nn::count_params(model), " parameters"),
              "make what is too large smaller; policy.gradient_checkpointing=true, policy.dtype=bfloat16, "
              "lora.enable=true and a smaller batch_size need less");
}

}  // namespace flexor::models
