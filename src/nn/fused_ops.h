#pragma once
#include <ATen/core/Tensor.h>

namespace flexor::nn {

// Elementwise chains in one pass over memory, with hand-written gradients: on the CPU a train step spends a fifth of
// its time in such chains. Each has the value of the chain of operators it stands for, without the roundings in between
// (so bfloat16 results differ from the reference's by such roundings). Inputs that the kernels do not take (other
// devices, dtypes or strides) go through the operators themselves.

/// gelu(gate) * up, tanh form. Shapes and dtypes of the two agree.
at::Tensor fused_geglu(const at::Tensor& gate, const at::Tensor& up);

/// gelu(x), tanh form.
at::Tensor fused_gelu(const at::Tensor& x);

/// x / sqrt(mean(x^2) + eps) * (1 + weight) over the last axis, in float32, result in the dtype of x.
/// @param weight  [D] float32
at::Tensor fused_rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

}  // namespace flexor::nn
