#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <vector>

#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/param_visitor.h"

namespace flexor::nn {

/// Pre-norm block of the SigLIP vision tower: full attention, then a GELU (tanh) MLP.
/// Axes: N pictures, P patches, W width.
struct SiglipLayer {
  LayerNorm layer_norm1;
  Linear k_proj, v_proj, q_proj, out_proj;  ///< W -> W, with bias; the reference's order
  LayerNorm layer_norm2;
  Linear fc1, fc2;  ///< W -> M -> W, with bias

  /// [N, P, W] -> [N, P, W]  @param fused  GELU in one pass
  at::Tensor operator()(const at::Tensor& h, int64_t num_heads, bool fused) const;
  void params(ParamVisitor& v);
};

/// SigLIP without a pooling head (arXiv:2303.15343): one feature vector per patch.
struct SiglipTower {
  at::Tensor patch_weight;    ///< [W, 3, p, p]: convolution of stride p
  at::Tensor patch_bias;      ///< [W]
  at::Tensor position_table;  ///< [P, W]
  std::vector<SiglipLayer> layers;
  LayerNorm post_layernorm;
  int64_t num_heads = 1;

  /// @param pixels  [N, 3, S, S] float32 in [-1, 1], S = p * sqrt(P)
  at::Tensor embed(const at::Tensor& pixels) const;  ///< patches plus positions, [N, P, W]
  /// [N, P, W], after post_layernorm  @param recompute  activation checkpointing, layer by layer
  at::Tensor operator()(const at::Tensor& pixels, bool fused, bool recompute = false) const;
  /// Names below "vision_tower.".
  void params(ParamVisitor& v);
};

/// Sizes of a tower; all in SigLIP's own terms.
struct SiglipSize {
  int64_t width, depth, num_heads, mlp_dim, patch_size, num_patches;
};
SiglipTower make_siglip(const SiglipSize& size);  ///< uninitialised, float32

}  // namespace flexor::nn
