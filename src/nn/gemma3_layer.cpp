#include "nn/gemma3_layer.h"

#include <cmath>

#include "tensor/tensor.h"

namespace flexor::nn {
namespace {

/// [B, L, heads * E] -> [B, L, heads, E]; E is twice the number of RoPE angles.
}  // namespace

void Gemma3Attention::params(ParamVisitor& v) {
  v.scope("q_proj", q_proj);
  v.scope("k_proj", k_proj);
  v.scope("v_proj", v_proj);
  v.scope("o_proj", o_proj);
  v.scope("q_norm", q_norm);
  v.scope("k_norm", k_norm);
}

Tensor Gemma3Layer::queries(const Tensor& n, const RopeTable& rope, bool fused) const {
  const Tensor q = self_attn.q_norm(split_heads(self_attn.q_proj(n, fused), rope), {}, fused).y;
  const Tensor rotated = apply_rope(q, rope, fused);
  return query_factor == 1.0 ? rotated : rotated * query_factor;
}

GemmaLayer::KeyValue Gemma3Layer::keys_values(const Tensor& n, const RopeTable& rope, bool fused) const {
  const Tensor k = self_attn.k_norm(split_heads(self_attn.k_proj(n, fused), rope), {}, fused).y;
  return {apply_rope(k, rope, fused), split_heads(self_attn.v_proj(n, fused), rope)};
}

Tensor Gemma3Layer::finish(const Tensor& h, const Tensor& attended, bool fused) const {
  const Tensor middle = h + post_attention_layernorm(self_attn.o_proj(attended, fused), {}, fused).y;
  const Tensor n = pre_feedforward_layernorm(middle, {}, fused).y;
  return middle + post_feedforward_layernorm(mlp(n, fused), {}, fused).y;
}

void Gemma3Layer::params(ParamVisitor& v) {
  v.scope("self_attn", self_attn);
  v.scope("mlp", mlp);
  v.scope("input_layernorm", input_layernorm);
  v.scope("post_attention_layernorm", post_attention_layernorm);
  v.scope("pre_feedforward_layernorm", pre_feedforward_layernorm);
  v.scope("post_feedforward_layernorm", post_feedforward_layernorm);
}

Gemma3Layer make_gemma3_layer(const Gemma3LayerSize& size) {
  const int64_t D = size.width, E = size.head_dim;
  const auto linear = [](int64_t in, int64_t out) { return make_linear(in, out, /*bias=*/false, at::kFloat); };
  return {.self_attn = {.q_proj = linear(D, size.num_heads * E),
                        .k_proj = linear(D, size.num_kv_heads * E),
                        .v_proj = linear(D, size.num_kv_heads * E),
                        .o_proj = linear(size.num_heads * E, D),
                        .q_norm = make_rms_norm(E),
                        .k_norm = make_rms_norm(E)},
          .mlp = {.gate_proj = linear(D, size.mlp_dim),
                  .up_proj = linear(D, size.mlp_dim),
                  .down_proj = linear(size.mlp_dim, D)},
          .input_layernorm = make_rms_norm(D),
          .post_attention_layernorm = make_rms_norm(D),
          .pre_feedforward_layernorm = make_rms_norm(D),
          .post_feedforward_layernorm = make_rms_norm(D),
          .query_factor = std::sqrt(static_cast<double>(E) / size.query_pre_attn_scalar)};
}

}  // namespace flexor::nn
