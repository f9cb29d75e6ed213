#pragma once
#include <ATen/core/Tensor.h>

#include "nn/gemma_layer.h"
#include "nn/gemma_mlp.h"
#include "nn/param_visitor.h"
#include "nn/rms_norm.h"
#include "nn/rope.h"

namespace flexor::nn {

/// The projections of Gemma3's attention: queries and keys are normalised per head before the rotation.
struct Gemma3Attention {
  Linear q_proj;           ///< D -> H E
  Linear k_proj, v_proj;   ///< D -> K E
  Linear o_proj;           ///< H E -> D
  RmsNorm q_norm, k_norm;  ///< E

  void params(ParamVisitor& v);
};

/// One layer of Gemma3 (arXiv:2503.19786), cut in two at the attention:
///   x += norm_post_attention(o_proj(attention(norm_input(x)))),  x +=
///   norm_post_feedforward(mlp(norm_pre_feedforward(x)))
/// Axes: B batch, L tokens, D width, H heads, K kv heads, E head_dim.
struct Gemma3Layer {
  Gemma3Attention self_attn;
  GemmaMlp mlp;
  RmsNorm input_layernorm, post_attention_layernorm, pre_feedforward_layernorm, post_feedforward_layernorm;
  /// Factor on the queries, so that attend(), which divides by sqrt(E), divides by sqrt(query_pre_attn_scalar).
  double query_factor = 1.0;

  /// @param n  normalised tokens [B, L, D]
  at::Tensor queries(const at::Tensor& n, const RopeTable& rope, bool fused) const;  ///< [B, L, H, E]
  GemmaLayer::KeyValue keys_values(const at::Tensor& n, const RopeTable& rope, bool fused) const;
  /// Everything behind the attention. @param h  [B, L, D]  @param attended  [B, L, H * E]  @return [B, L, D]
  at::Tensor finish(const at::Tensor& h, const at::Tensor& attended, bool fused) const;
  void params(ParamVisitor& v);
};

/// Sizes of a layer.
struct Gemma3LayerSize {
  int64_t width, mlp_dim, num_heads, num_kv_heads, head_dim;
  double query_pre_attn_scalar;
};
Gemma3Layer make_gemma3_layer(const Gemma3LayerSize& size);  ///< uninitialised, float32

}  // namespace flexor::nn
