#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>

#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/param_visitor.h"

namespace flexor::nn {

/// SigLIP's attention-pooling head: one learned query attends to all patches, then a residual MLP: one feature vector a
/// picture. Axes: N pictures, P patches, W width, M MLP width.
struct SiglipPool {
  at::Tensor probe;               ///< [1, 1, W]
  at::Tensor in_weight, in_bias;  ///< queries, keys, values: [3 W, W], [3 W]
  Linear out_proj;                ///< W -> W
  LayerNorm layernorm;
  Linear fc1, fc2;  ///< W -> M -> W

  /// @param patches  [N, P, W], after post_layernorm  @return [N, W]
  at::Tensor operator()(const at::Tensor& patches, int64_t num_heads, bool fused) const;
  /// Names below "vision_tower.vision_model.head.".
  void params(ParamVisitor& v);
};

SiglipPool make_siglip_pool(int64_t width, int64_t mlp_dim);  ///< uninitialised, float32

}  // namespace flexor::nn
