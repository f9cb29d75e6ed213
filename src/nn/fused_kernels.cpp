#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math", "no-math-errno")  // vector code; clang makes it without being asked
#endif

#include "nn/fused_kernels.h"  // behind the pragma, so that its functions are inlined into the loops

namespace flexor::nn {
namespace {

/// Sum of f(0..n-1) in eight partial sums, which fill a vector and make the order the same on every machine.
template <typename F>
float eightfold_sum(int64_t n, const F& f) {
  float sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int64_t lane = 0; lane < 8; ++lane) {
      sums[lane] += f(i + lane);
    }
  }
  for (; i < n; ++i) {
    sums[0] += f(i);
  }
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

}  // namespace

template <typename T>
void geglu_kernel(T* __restrict out, const T* gate, const T* up, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    store(out[i], Gelu::at(load(gate[i])).value * load(up[i]));
  }
}

template <typename T>
void geglu_backward_kernel(T* __restrict d_gate, T* __restrict d_up, const T* grad, const T* gate, const T* up,
                           int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const Gelu gelu = Gelu::at(load(gate[i]));
    const float g = load(grad[i]);
    store(d_gate[i], g * load(up[i]) * gelu.slope);
    store(d_up[i], g * gelu.value);
  }
}

template <typename T>
void gelu_kernel(T* __restrict out, const T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    store(out[i], Gelu::at(load(x[i])).value);
  }
}

template <typename T>
void gelu_backward_kernel(T* __restrict d_x, const T* grad, const T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    store(d_x[i], load(grad[i]) * Gelu::at(load(x[i])).slope);
  }
}

template <typename T>
float rms_norm_kernel(T* __restrict y, const T* x, const float* weight, float eps, int64_t n) {
  const float squares = eightfold_sum(n, [&](int64_t i) { return load(x[i]) * load(x[i]); });
  const float r = 1.0F / __builtin_sqrtf(squares / static_cast<float>(n) + eps);
  for (int64_t i = 0; i < n; ++i) {
    store(y[i], load(x[i]) * r * (1.0F + weight[i]));
  }
  return r;
}

template <typename T>
void rms_norm_backward_kernel(T* __restrict d_x, const T* grad, const T* x, const float* weight, float r, int64_t n) {
  const float dot = eightfold_sum(n, [&](int64_t i) { return load(grad[i]) * (1.0F + weight[i]) * load(x[i]); });
  const float mean = dot * r / static_cast<float>(n);
  for (int64_t i = 0; i < n; ++i) {
    store(d_x[i], r * (load(grad[i]) * (1.0F + weight[i]) - load(x[i]) * r * mean));
  }
}

// One copy for each element type.
#define FLEXOR_FUSED_KERNELS(T)                                                       \
  template void geglu_kernel(T*, const T*, const T*, int64_t);                        \
  template void geglu_backward_kernel(T*, T*, const T*, const T*, const T*, int64_t); \
  template void gelu_kernel(T*, const T*, int64_t);                                   \
  template void gelu_backward_kernel(T*, const T*, const T*, int64_t);                \
  template float rms_norm_kernel(T*, const T*, const float*, float, int64_t);         \
  template void rms_norm_backward_kernel(T*, const T*, const T*, const float*, float, int64_t);
FLEXOR_FUSED_KERNELS(float)
FLEXOR_FUSED_KERNELS(Bf16Bits)
#undef FLEXOR_FUSED_KERNELS

}  // namespace flexor::nn
