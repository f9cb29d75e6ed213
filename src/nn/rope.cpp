#include "nn/rope.h"

#include <ATen/core/ivalue.h>

#include "device/device.h"
#include "device/fused.h"
#include "nn/checkpoint.h"
#include "tensor/tensor.h"

namespace flexor::nn {
namespace {

Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const auto halves = x.chunk(2, -1);
  return at::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1);
}

}  // namespace

RopeTable rope_table(const Tensor& positions, int64_t head_dim, at::ScalarType dtype, bool round_frequency,
                     double base) {
  const auto floats = positions.options().dtype(at::kFloat);
  const Tensor exponent = at::arange(0, head_dim, 2, floats) / static_cast<double>(head_dim);
  Tensor frequency = 1.0 / at::pow(base, exponent);  // [E/2]
  if (round_frequency) {
    frequency = frequency.to(at::kBFloat16).to(at::kFloat);
  }
  const Tensor angle = (positions.to(at::kFloat).unsqueeze(-1) * frequency).unsqueeze(2);  // [B, L, 1, E/2]
  return {angle.cos().to(dtype), angle.sin().to(dtype)};
}

Tensor apply_rope(const Tensor& x, const RopeTable& table, bool fused) {
  if (fused && x.device() == device::current() && device::has_fused(device::FusedUse::kRope)) {
    return device::call_fused(device::FusedUse::kRope,
                              {x, at::cat({table.cos, table.cos}, -1), at::cat({table.sin, table.sin}, -1)})[0];
  }
  // The gradient of a rotation is the rotation back; nothing of x needs to be kept for it.
  return custom_gradient(
      {x}, {table.cos, table.sin},
      [](const Tensors& in, const Tensors& saved) { return rotate(in[0], saved[0], saved[1]); },
      [](const Tensor& grad, const Tensors& saved, const std::vector<bool>&) {
        return Tensors{rotate(grad, saved[0], -saved[1])};
      });
}

Tensor split_heads(const Tensor& x, const RopeTable& table) {
  return x.reshape({x.size(0), x.size(1), -1, 2 * table.cos.size(-1)});
}

}  // namespace flexor::nn
