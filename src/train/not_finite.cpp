#include "train/not_finite.h"

#include <ATen/ops/isfinite.h>

#include "base/str_cat.h"
#include "tensor/absent.h"
#include "tensor/tensor.h"

namespace flexor::train {
namespace {

bool has_values(const Tensor& tensor) {
  return tensor.defined() && !is_absent(tensor) && tensor.numel() > 0 && tensor.is_floating_point();
}

bool is_all_finite(const Tensor& tensor) {
  return !has_values(tensor) || at::isfinite(tensor).all().item<bool>();
}

bool has_negative(const Tensor& tensor) {
  return has_values(tensor) && (tensor < 0).any().item<bool>();
}

}  // namespace

std::optional<Culprit> find_culprit(const optim::AdamW& optimizer, bool weights_are_unchanged) {
  for (const optim::Slot& slot : optimizer.slots()) {
    const bool is_finite = is_all_finite(slot.exp_avg) && is_all_finite(slot.exp_avg_sq);
    if (!is_finite || has_negative(slot.exp_avg_sq)) {
      return Culprit{.what = str_cat("the optimizer's moments of '", slot.name, "' ",
                                     is_finite ? "hold squares below 0" : "hold NaN or infinity"),
                     .hint =
                         "the training state that the run started from is damaged: continue from an older "
                         "checkpoint"};
    }
  }
  if (!weights_are_unchanged) {
    return std::nullopt;
  }
  for (const optim::Slot& slot : optimizer.slots()) {
    if (!is_all_finite(slot.param) || !is_all_finite(slot.master)) {
      return Culprit{.what = str_cat("the weights hold NaN or infinity from the start: '", slot.name, "'"),
                     .hint =
                         "they are damaged or come from a training that diverged: start from other weights, or an "
                         "older checkpoint"};
    }
  }
  return std::nullopt;
}

}  // namespace flexor::train
