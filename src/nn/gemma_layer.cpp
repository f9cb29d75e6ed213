#include "nn/gemma_layer.h"

#include "tensor/tensor.h"

namespace flexor::nn {
namespace {

/// [B, L, heads * E] -> [B, L, heads, E]; E is twice the number of RoPE angles.
}  // namespace

Tensor GemmaLayer::queries(const Tensor& n, const RopeTable& rope, bool fused) const {
  return apply_rope(split_heads(self_attn.q_proj(n, fused), rope), rope, fused);
}

GemmaLayer::KeyValue GemmaLayer::keys_values(const Tensor& n, const RopeTable& rope, bool fused) const {
  return {apply_rope(split_heads(self_attn.k_proj(n, fused), rope), rope, fused),
          split_heads(self_attn.v_proj(n, fused), rope)};
}

Tensor GemmaLayer::finish(const Tensor& h, const Tensor& attended, const Tensor& gate, const Tensor& modulation,
                          bool fused) const {
  const Tensor middle = gated_residual(h, self_attn.o_proj(attended, fused), gate);
  const Normed normed = post_attention_layernorm(middle, modulation, fused);
  return gated_residual(middle, mlp(normed.y, fused), normed.gate);
}

}  // namespace flexor::nn
