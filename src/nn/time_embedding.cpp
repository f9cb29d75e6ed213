#include "nn/time_embedding.h"

#include <ATen/ops/linspace.h>
#include <numbers>

#include "tensor/tensor.h"

namespace flexor::nn {

Tensor time_embedding(const Tensor& time, int64_t width, double min_period, double max_period) {
  const auto doubles = time.options().dtype(at::kDouble);
  const Tensor fraction = at::linspace(0.0, 1.0, width / 2, doubles);
  const Tensor period = min_period * at::pow(max_period / min_period, fraction);  // [d/2]
  const Tensor angle = time.to(at::kDouble).unsqueeze(1) * (1.0 / period * 2 * std::numbers::pi);
  return at::cat({angle.sin(), angle.cos()}, 1).to(at::kFloat);
}

}  // namespace flexor::nn
