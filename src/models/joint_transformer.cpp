#include "models/joint_transformer.h"

#include "models/masks.h"
#include "nn/attention.h"
#include "nn/checkpoint.h"
#include "nn/run_block.h"
#include "tensor/tap.h"
#include "tensor/tensor.h"

namespace flexor::models {
namespace {

using nn::GemmaLayer;
using nn::Normed;
using nn::RopeTable;
using KeyValue = nn::GemmaLayer::KeyValue;

RopeTable make_rope(const FlowNet& net, const Tensor& positions, const ComputeOptions& options) {
  const at::ScalarType dtype = compute_dtype(net, options);
  return nn::rope_table(positions, net.head_dim, dtype, options.reference_rope && dtype == at::kBFloat16);
}

/// Masks and rotations of one joint pass.
struct JointPlan {
  RopeTable prefix_rope, suffix_rope;
  Tensor joint_mask;   ///< [B, 1, P + S, P + S], only when both streams attend in one call
  Tensor prefix_mask;  ///< [B, 1, 1, P], or undefined when the whole prefix is real
  Tensor suffix_mask;  ///< [B, 1, 1 or S, P + S], or undefined when every key is visible to all
};

/// Only the rows of real tokens matter, so it is enough to hide padding keys.
Tensor key_mask(const Prefix& prefix) {
  return prefix.all_real ? Tensor() : additive_mask(prefix.pad.unsqueeze(1));
}

/// Rows of the suffix, one for all where its tokens see the same keys (pi0.5); undefined when nothing is hidden.
Tensor suffix_rows(bool is_pi05, const Tensor& prefix_pad, bool all_real, int64_t S, bool savings) {
  if (savings && all_real && is_pi05) {
    return {};
  }
  const Tensor pad = at::cat({prefix_pad, at::ones({prefix_pad.size(0), S}, prefix_pad.options())}, 1);
  if (savings && is_pi05) {
    return additive_mask(pad.unsqueeze(1));
  }
  const int64_t P = prefix_pad.size(1), horizon = is_pi05 ? S : S - 1;
  const Tensor att = at::cat({at::zeros({P}, prefix_pad.options().dtype(at::kFloat)),
                              suffix_att_masks(is_pi05, horizon, prefix_pad.options())});
  return additive_mask(attention_rows(att, pad, P));
}

JointPlan plan_joint(const FlowNet& net, const Prefix& prefix, int64_t S, const ComputeOptions& options) {
  const int64_t B = prefix.pad.size(0), P = prefix.pad.size(1);
  const Tensor pad = at::cat({prefix.pad, at::ones({B, S}, prefix.pad.options())}, 1);
  const Tensor positions = position_ids(pad);
  JointPlan plan{make_rope(net, positions.narrow(1, 0, P), options),
                 make_rope(net, positions.narrow(1, P, S), options),
                 {},
                 {},
                 {}};
  if (options.exact_savings) {
    plan.prefix_mask = key_mask(prefix);
    plan.suffix_mask = suffix_rows(net.is_pi05, prefix.pad, prefix.all_real, S, /*savings=*/true);
    return plan;
  }
  const Tensor att = at::cat({at::zeros({P}, pad.options().dtype(at::kFloat)),
                              suffix_att_masks(net.is_pi05, net.is_pi05 ? S : S - 1, pad.options())});
  const Tensor allowed = attention_rows(att, pad, 0);
  plan.joint_mask = additive_mask(allowed);
  tap("pad_masks", pad);
  tap("att_masks", att.expand({B, P + S}));
  tap("att_2d_masks", allowed);
  tap("position_ids", positions);
  return plan;
}

/// Queries that nobody reads: left out, but with the zero gradient that the reference gives their projection.
Tensor skip_queries(Tensor keys, const nn::Linear& q_proj) {
  for (const Tensor& weight : {q_proj.weight, q_proj.lora_a, q_proj.lora_b}) {
    if (weight.defined() && weight.requires_grad()) {
      keys = nn::with_zero_gradient(keys, weight);
    }
  }
  return keys;
}

/// One joint layer. @param in  prefix [B, P, D], suffix [B, S, W], condition [B, W] or undefined
/// @return prefix and suffix behind the layer; the prefix is undefined if `prefix_unread`
nn::Tensors joint_layer(const GemmaLayer& vlm, const GemmaLayer& expert, const nn::Tensors& in, const JointPlan& plan,
                        bool prefix_unread, bool fused) {
  const Tensor &prefix = in[0], &suffix = in[1], &condition = in[2];
  const int64_t P = prefix.size(1), S = suffix.size(1);
  const Normed p = vlm.input_layernorm(prefix, {}, fused);
  const Normed s = expert.input_layernorm(suffix, expert.input_layernorm.modulation(condition), fused);
  KeyValue p_kv = vlm.keys_values(p.y, plan.prefix_rope, fused);
  const KeyValue s_kv = expert.keys_values(s.y, plan.suffix_rope, fused);
  const Tensor s_q = expert.queries(s.y, plan.suffix_rope, fused);  // [B, S, H, E]

  Tensor p_attended, s_attended;
  if (plan.joint_mask.defined()) {
    const Tensor q = at::cat({vlm.queries(p.y, plan.prefix_rope, fused), s_q}, 1);
    const Tensor both =
        nn::attend(q, at::cat({p_kv.k, s_kv.k}, 1), at::cat({p_kv.v, s_kv.v}, 1), plan.joint_mask, fused);
    p_attended = both.narrow(1, 0, P);
    s_attended = both.narrow(1, P, S);
  } else {
    if (prefix_unread) {
      p_kv.k = skip_queries(p_kv.k, vlm.self_attn.q_proj);
    } else {
      p_attended = nn::attend(vlm.queries(p.y, plan.prefix_rope, fused), p_kv.k, p_kv.v, plan.prefix_mask, fused);
    }
    s_attended = nn::attend(s_q, at::cat({p_kv.k, s_kv.k}, 1), at::cat({p_kv.v, s_kv.v}, 1), plan.suffix_mask, fused);
  }
  const Tensor modulation = expert.post_attention_layernorm.modulation(condition);
  return {prefix_unread ? Tensor() : vlm.finish(prefix, p_attended, {}, {}, fused),
          expert.finish(suffix, s_attended, s.gate, modulation, fused)};
}

}  // namespace

at::ScalarType compute_dtype(const FlowNet& net, const ComputeOptions& options) {
  return options.autocast ? at::kBFloat16 : net.body_dtype();
}

Modulations make_modulations(const FlowNet& net, const Tensor& condition) {
  Modulations all;
  all.input.reserve(net.expert.layers.size());
  all.post_attention.reserve(net.expert.layers.size());
  for (const GemmaLayer& layer : net.expert.layers) {
    all.input.push_back(layer.input_layernorm.modulation(condition));
    all.post_attention.push_back(layer.post_attention_layernorm.modulation(condition));
  }
  all.final = net.expert.norm.modulation(condition);
  return all;
}

Tensor run_joint(FlowNet& net, const Prefix& prefix, const Tensor& suffix, const Tensor& condition,
                 const ComputeOptions& options) {
  const JointPlan plan = plan_joint(net, prefix, suffix.size(1), options);
  const at::ScalarType dtype = compute_dtype(net, options);
  const size_t depth = net.expert.layers.size();
  Tensor p = prefix.embs.to(dtype), s = suffix.to(dtype);
  for (size_t i = 0; i < depth; ++i) {
    const bool prefix_unread = options.exact_savings && i + 1 == depth;
    const auto layer = [&net, &options, plan, i, prefix_unread](const nn::Tensors& in) {
      return joint_layer(net.paligemma.layers[i], net.expert.layers[i], in, plan, prefix_unread,
                         options.fused_attention);
    };
    const nn::Tensors in{p, s, condition};
    const Tensor& parameter = net.paligemma.layers[i].self_attn.q_proj.weight;
    const nn::Tensors out = nn::run_block(parameter, layer, in, options.gradient_checkpointing);
    p = out[0];
    s = out[1];
    for (const char* name : {"layer_first", "layer_last"}) {
      if (tap_active() && i == (name[6] == 'f' ? 0 : depth - 1)) {
        tap(std::string(name) + ".suffix", s);
        if (p.defined()) {
          tap(std::string(name) + ".prefix", p);
        }
      }
    }
  }
  return net.expert.norm(s, net.expert.norm.modulation(condition)).y;
}

PrefixCache run_prefix(FlowNet& net, const Prefix& prefix, int64_t suffix_tokens, const ComputeOptions& options) {
  const RopeTable rope = make_rope(net, position_ids(prefix.pad), options);
  // Without savings padding queries are computed as the reference computes them: nothing is visible to them.
  const Tensor mask =
      options.exact_savings ? key_mask(prefix) : additive_mask(prefix.pad.unsqueeze(1) & prefix.pad.unsqueeze(2));
  PrefixCache cache{{}, prefix.pad, prefix.all_real};
  const auto with_room = [&](const Tensor& x) {
    Tensor roomy = at::empty({x.size(0), x.size(1) + suffix_tokens, x.size(2), x.size(3)}, x.options());
    roomy.narrow(1, 0, x.size(1)).copy_(x);
    return roomy;
  };
  Tensor h = prefix.embs.to(compute_dtype(net, options));
  const auto& layers = net.paligemma.layers;
  const bool fused = options.fused_attention;
  for (size_t i = 0; i < layers.size(); ++i) {
    const Normed n = layers[i].input_layernorm(h, {}, fused);
    const KeyValue kv = layers[i].keys_values(n.y, rope, fused);
    if (tap_active() && (i == 0 || i + 1 == layers.size())) {
      const std::string name = i == 0 ? "kv_cache.first." : "kv_cache.last.";
      tap(name + "key", kv.k.transpose(1, 2));
      tap(name + "value", kv.v.transpose(1, 2));
    }
    cache.layers.push_back({with_room(kv.k), with_room(kv.v)});
    if (i + 1 < layers.size()) {  // nobody reads the prefix behind the last layer
      const Tensor attended = nn::attend(layers[i].queries(n.y, rope, fused), kv.k, kv.v, mask, fused);
      h = layers[i].finish(h, attended, {}, {}, fused);
    }
  }
  return cache;
}

SuffixPlan plan_suffix(const FlowNet& net, const PrefixCache& cache, int64_t suffix_tokens,
                       const ComputeOptions& options) {
  const Tensor real = cache.pad.to(at::kLong).sum(1, /*keepdim=*/true);  // [B, 1]
  const Tensor positions = real + at::arange(suffix_tokens, real.options());
  return {make_rope(net, positions, options),
          suffix_rows(net.is_pi05, cache.pad, cache.all_real, suffix_tokens, /*savings=*/true)};
}

Tensor run_suffix(const FlowNet& net, PrefixCache& cache, const SuffixPlan& plan, const Tensor& suffix,
                  const Modulations& modulations, const ComputeOptions& options) {
  const int64_t P = cache.pad.size(1), S = suffix.size(1);
  const bool fused = options.fused_attention;
  Tensor h = suffix.to(compute_dtype(net, options));
  for (size_t i = 0; i < net.expert.layers.size(); ++i) {
    const GemmaLayer& layer = net.expert.layers[i];
    const KeyValue& all = cache.layers[i];
    const Normed n = layer.input_layernorm(h, modulations.input[i], fused);
    const KeyValue own = layer.keys_values(n.y, plan.rope, fused);
    all.k.narrow(1, P, S).copy_(own.k);
    all.v.narrow(1, P, S).copy_(own.v);
    const Tensor attended = nn::attend(layer.queries(n.y, plan.rope, fused), all.k, all.v, plan.mask, fused);
    h = layer.finish(h, attended, n.gate, modulations.post_attention[i], fused);
  }
  return net.expert.norm(h, modulations.final).y;
}

}  // namespace flexor::models
