#pragma once
#include <cstdint>

#include "nn/fused_math.h"

namespace flexor::nn {

// Inner loops of fused_ops.h over n contiguous elements; T is float or Bf16Bits, arithmetic is float.

/// out = gelu(gate) * up
template <typename T>
void geglu_kernel(T* out, const T* gate, const T* up, int64_t n);
template <typename T>
void geglu_backward_kernel(T* d_gate, T* d_up, const T* grad, const T* gate, const T* up, int64_t n);

/// out = gelu(x)
template <typename T>
void gelu_kernel(T* out, const T* x, int64_t n);
template <typename T>
void gelu_backward_kernel(T* d_x, const T* grad, const T* x, int64_t n);

/// y = x r (1 + weight) for one row, r = 1 / sqrt(mean(x^2) + eps). @return r
template <typename T>
float rms_norm_kernel(T* y, const T* x, const float* weight, float eps, int64_t n);
/// With u = x r and h = grad (1 + weight): d_x = r (h - u mean(h u)).
template <typename T>
void rms_norm_backward_kernel(T* d_x, const T* grad, const T* x, const float* weight, float r, int64_t n);

}  // namespace flexor::nn
