#pragma once
#include <ATen/core/Tensor.h>

#include "nn/gemma_mlp.h"
#include "nn/linear.h"
#include "nn/param_visitor.h"
#include "nn/rms_norm.h"
#include "nn/rope.h"

namespace flexor::nn {

/// The four projections of Gemma's attention; the attention itself is shared between two stacks (see models/).
struct GemmaAttention {
  Linear q_proj;          ///< D -> H E
  Linear k_proj, v_proj;  ///< D -> K E
  Linear o_proj;          ///< H E -> D

  void params(ParamVisitor& v) {
    v.scope("q_proj", q_proj);
    v.scope("k_proj", k_proj);
    v.scope("v_proj", v_proj);
    v.scope("o_proj", o_proj);
  }
};

/// One pre-norm Gemma layer, cut in two at the attention.
/// Axes: B batch, L tokens, D width, H heads, K kv heads, E head_dim.
struct GemmaLayer {
  GemmaAttention self_attn;
  GemmaMlp mlp;
  RmsNorm input_layernorm, post_attention_layernorm;

  struct KeyValue {
    at::Tensor k, v;  ///< [B, L, K, E], k after RoPE
  };
  /// @param n  normalised tokens [B, L, D]
  at::Tensor queries(const at::Tensor& n, const RopeTable& rope, bool fused) const;  ///< [B, L, H, E]
  KeyValue keys_values(const at::Tensor& n, const RopeTable& rope, bool fused) const;

  /// Everything behind the attention: output projection, residual, norm, MLP, residual.
  /// @param h         residual stream [B, L, D]
  /// @param attended  [B, L, H * E]
  /// @param gate      of the input norm, or undefined
  /// @param modulation  for the second norm, or undefined
  /// @param fused     elementwise chains in one pass
  at::Tensor finish(const at::Tensor& h, const at::Tensor& attended, const at::Tensor& gate,
                    const at::Tensor& modulation, bool fused) const;
  void params(ParamVisitor& v) {
    v.scope("self_attn", self_attn);
    v.scope("mlp", mlp);
    v.scope("input_layernorm", input_layernorm);
    v.scope("post_attention_layernorm", post_attention_layernorm);
  }
};

}  // namespace flexor::nn
