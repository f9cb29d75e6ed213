#pragma once
#include <ATen/core/Tensor.h>

namespace flexor::nn {

/// at::linear, through oneDNN where that is faster: float32 on the CPU, whose matrix products PyTorch leaves to a BLAS
/// that is 5 to 10 % slower on AMD processors. Anything else (bfloat16, other devices, autocast) is at::linear itself.
/// @param bias  [out] or undefined
at::Tensor fast_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace flexor::nn
