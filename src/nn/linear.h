#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>

#include "nn/param_visitor.h"

namespace flexor::nn {

/// y = x W^T + b. Without autocast the input is cast to the weight's dtype by nobody: both must agree.
/// With LoRA attached: y += lora_scale * (x A^T) B^T.
struct Linear {
  at::Tensor weight;  ///< [out, in]
  at::Tensor bias;    ///< [out], or undefined
  at::Tensor lora_a;  ///< [r, in], undefined without LoRA
  at::Tensor lora_b;  ///< [out, r]
  double lora_scale = 1.0;

  /// [..., in] -> [..., out]  @param fused  through the fastest matrix product rather than the reference's
  at::Tensor operator()(const at::Tensor& x, bool fused = false) const;
  at::Tensor merged() const;  ///< weight with the adapter added, detached
  void params(ParamVisitor& v);
};

/// Uninitialised parameters.
Linear make_linear(int64_t in, int64_t out, bool bias, at::ScalarType dtype);

}  // namespace flexor::nn
