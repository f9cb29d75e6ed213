#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>

#include "nn/param_visitor.h"

namespace flexor::nn {

/// Layer norm over the last axis with weight and bias.
struct LayerNorm {
  at::Tensor weight, bias;  ///< [D]
  double eps = 1e-6;

  at::Tensor operator()(const at::Tensor& x) const;  ///< [..., D] -> [..., D]
  void params(ParamVisitor& v) {
    v("weight", weight);
    v("bias", bias);
  }
};

LayerNorm make_layer_norm(int64_t width);

}  // namespace flexor::nn
