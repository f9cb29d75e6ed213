#include "optim/ema.h"

#include <ATen/ops/lerp.h>

#include "config/field_table.h"
#include "tensor/large_buffer.h"
#include "tensor/tensor.h"

namespace flexor::optim {

constexpr double kMaxDecay = 1.0 - 1e-9;  // with 1 the average stays what the weights were before the first step

void fields(config::FieldTable& table, EmaConfig& config) {
  table("enable", config.enable, "keep a moving average of the weights; checkpoints get it as pretrained_model_ema");
  table("decay", config.decay, "share of the old average in each step, below 1").range(0, kMaxDecay);
}

Ema::Ema(const EmaConfig& config, const std::vector<Slot>& slots) : decay_(config.decay) {
  const at::NoGradGuard no_graph;
  for (const Slot& slot : slots) {
    if (slot.param.requires_grad()) {
      averages_.emplace_back(slot.name, lasting_copy(slot.source().detach(), at::kFloat));
    }
  }
}

void Ema::update(const std::vector<Slot>& slots) {
  const at::NoGradGuard no_graph;
  size_t next = 0;
  for (const Slot& slot : slots) {
    if (slot.param.requires_grad()) {
      averages_[next++].second.lerp_(slot.source().detach().to(at::kFloat), 1.0 - decay_);
    }
  }
}

}  // namespace flexor::optim
