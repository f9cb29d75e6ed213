#include "nn/rms_norm.h"

#include "nn/fused_ops.h"
#include "tensor/tensor.h"

namespace flexor::nn {

Tensor RmsNorm::modulation(const Tensor& condition) const {
  return adaptive() ? dense(condition) : Tensor();
}

// Axes: B batch, L tokens, D width.
Normed RmsNorm::operator()(const Tensor& x, const Tensor& modulation, bool fused) const {
  if (fused && !adaptive()) {
    return {fused_rms_norm(x, weight, eps), Tensor()};
  }
  const Tensor x32 = x.to(at::kFloat);
  const Tensor unit = x32 * at::rsqrt(x32.square().mean(-1, /*keepdim=*/true) + eps);  // [B, L, D] float32
  if (!adaptive()) {
    return {(unit * (1.0 + weight.to(at::kFloat))).to(x.scalar_type()), Tensor()};
  }
  const auto parts = modulation.unsqueeze(1).chunk(3, -1);  // scale, shift, gate: [B, 1, D]
  const Tensor y = unit * (1.0 + parts[0].to(at::kFloat)) + parts[1].to(at::kFloat);
  return {y.to(x.scalar_type()), parts[2].to(x.scalar_type())};
}

void RmsNorm::params(ParamVisitor& v) {
  if (adaptive()) {
    v.scope("dense", dense);
  } else {
    v("weight", weight);
  }
}

RmsNorm make_rms_norm(int64_t width) {
  return {.weight = at::empty({width}, at::kFloat), .dense = {}};
}

RmsNorm make_ada_rms_norm(int64_t width, int64_t condition_width) {
  return {.weight = {}, .dense = make_linear(condition_width, 3 * width, /*bias=*/true, at::kFloat)};
}

Tensor gated_residual(const Tensor& x, const Tensor& y, const Tensor& gate) {
  return gate.defined() ? x + y * gate : x + y;
}

}  // namespace flexor::nn
