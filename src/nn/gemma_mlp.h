#pragma once
#include <ATen/core/Tensor.h>

#include "nn/linear.h"
#include "nn/param_visitor.h"

namespace flexor::nn {

/// Gated MLP of Gemma: down(gelu(gate(x)) * up(x)), tanh form of GELU.
struct GemmaMlp {
  Linear gate_proj, up_proj;  ///< D -> M
  Linear down_proj;           ///< M -> D

  /// [..., D] -> [..., D]  @param fused  activation and product in one pass over memory
  at::Tensor operator()(const at::Tensor& x, bool fused = false) const;
  void params(ParamVisitor& v) {
    v.scope("gate_proj", gate_proj);
    v.scope("up_proj", up_proj);
    v.scope("down_proj", down_proj);
  }
};

}  // namespace flexor::nn
