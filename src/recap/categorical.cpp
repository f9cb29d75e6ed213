#include "recap/categorical.h"

#include <ATen/ops/log_softmax.h>

#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace flexor::recap {

Tensor two_hot(const Tensor& targets, const Bins& bins) {
  const Tensor y = targets.to(at::kFloat).clamp(bins.v_min, bins.v_max);
  const Tensor place = (y - bins.v_min) / bins.delta();  // [B], 0..num_bins - 1
  const double last = static_cast<double>(bins.num_bins - 1);
  const Tensor lower = place.floor().clamp(0.0, last), upper = place.ceil().clamp(0.0, last);
  const Tensor on_atom = lower.eq(upper);
  const Tensor low_weight = at::where(on_atom, at::ones_like(place), upper - place);
  const Tensor high_weight = at::where(on_atom, at::zeros_like(place), place - lower);
  const auto column = [](const Tensor& x) { return x.unsqueeze(1); };
  Tensor weights = at::zeros({y.size(0), bins.num_bins}, y.options());
  weights.scatter_add_(1, column(lower.to(at::kLong)), column(low_weight));
  weights.scatter_add_(1, column(upper.to(at::kLong)), column(high_weight));
  return weights;
}

Tensor categorical_losses(const Tensor& logits, const Tensor& targets, const Bins& bins) {
  check_shape(targets, {logits.size(0)}, "value loss: targets [B]");
  check_shape(logits, {-1, bins.num_bins}, "value loss: logits [B, num_bins]");
  return -(two_hot(targets, bins) * at::log_softmax(logits.to(at::kFloat), -1)).sum(-1);
}

}  // namespace flexor::recap
