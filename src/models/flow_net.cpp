#include "models/flow_net.h"

#include <string>
#include <vector>

#include "base/error.h"
#include "config/finding.h"
#include "tensor/tensor.h"

namespace flexor::models {
namespace {

using schema::Architecture;
using schema::GemmaSize;
using schema::PolicyConfig;

/// Scopes of the reference's module tree that hold nothing of their own.
struct LanguageModelParams {
  Paligemma& p;
  void params(nn::ParamVisitor& v) {
    v("embed_tokens.weight", p.embed_tokens);
    for (size_t i = 0; i < p.layers.size(); ++i) {
      v.scope("layers." + std::to_string(i), p.layers[i]);
    }
    v.scope("norm", p.norm);
  }
};

struct ExpertModelParams {
  ActionExpert& e;
  void params(nn::ParamVisitor& v) {
    for (size_t i = 0; i < e.layers.size(); ++i) {
      v.scope("layers." + std::to_string(i), e.layers[i]);
    }
    v.scope("norm", e.norm);
  }
};

at::ScalarType body_dtype_of(const PolicyConfig& config) {
  if (config.dtype == "bfloat16") {
    return at::kBFloat16;
  }
  if (config.dtype == "float32" || config.dtype == "bfloat16_autocast") {
    return at::kFloat;
  }
  throw Error(ErrorKind::kConfig, "unknown dtype '" + config.dtype + "'", "policy.dtype",
              "float32, bfloat16 or bfloat16_autocast");
}

/// @param condition_width  of adaptive norms, 0 for plain ones
nn::RmsNorm make_norm(int64_t width, int64_t condition_width) {
  return condition_width > 0 ? nn::make_ada_rms_norm(width, condition_width) : nn::make_rms_norm(width);
}

std::vector<nn::GemmaLayer> make_layers(const GemmaSize& size, int64_t condition_width, at::ScalarType dtype) {
  const int64_t D = size.width, queries = size.num_heads * size.head_dim, keys = size.num_kv_heads * size.head_dim;
  const auto plain = [&](int64_t in, int64_t out) { return nn::make_linear(in, out, /*bias=*/false, dtype); };
  std::vector<nn::GemmaLayer> layers;
  layers.reserve(size.depth);
  for (int64_t i = 0; i < size.depth; ++i) {
    layers.push_back({.self_attn = {.q_proj = plain(D, queries),
                                    .k_proj = plain(D, keys),
                                    .v_proj = plain(D, keys),
                                    .o_proj = plain(queries, D)},
                      .mlp = {.gate_proj = plain(D, size.mlp_dim),
                              .up_proj = plain(D, size.mlp_dim),
                              .down_proj = plain(size.mlp_dim, D)},
                      .input_layernorm = make_norm(D, condition_width),
                      .post_attention_layernorm = make_norm(D, condition_width)});
  }
  return layers;
}

}  // namespace

void Paligemma::params(nn::ParamVisitor& v) {
  LanguageModelParams language_model{*this};
  v("lm_head.weight", lm_head);
  v.scope("model.vision_tower", vision_tower);
  v.scope("model.multi_modal_projector.linear", projector);
  v.scope("model.language_model", language_model);
}

void ActionExpert::params(nn::ParamVisitor& v) {
  ExpertModelParams model{*this};
  v("lm_head.weight", lm_head);
  v.scope("model", model);
}

void FlowNet::params(nn::ParamVisitor& v) {
  v.scope("paligemma_with_expert.paligemma", paligemma);
  v.scope("paligemma_with_expert.gemma_expert", expert);
  v.scope("action_in_proj", action_in_proj);
  v.scope("action_out_proj", action_out_proj);
  if (is_pi05) {
    v.scope("time_mlp_in", time_mlp_in);
    v.scope("time_mlp_out", time_mlp_out);
  } else {
    v.scope("state_proj", state_proj);
    v.scope("action_time_mlp_in", action_time_mlp_in);
    v.scope("action_time_mlp_out", action_time_mlp_out);
  }
}

ModelBlocks FlowNet::blocks() const {
  const std::string vlm = "paligemma_with_expert.paligemma.", own = "paligemma_with_expert.gemma_expert.";
  std::vector<ParamBlock> order =
      layer_blocks(vlm + "model.vision_tower.vision_model.encoder.", paligemma.vision_tower.layers.size());
  order.push_back({{vlm + "model.language_model.embed_tokens."}, /*read_in_backward=*/false});
  for (size_t i = 0; i < expert.layers.size(); ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    order.push_back({{vlm + "model.language_model." + layer, own + "model." + layer}});
  }
  return {{std::move(order)}, {vlm + "lm_head.", own + "lm_head."}};
}

FlowNet make_flow_net(const PolicyConfig& config) {
  if (const std::vector<config::Finding> findings = schema::check(config, "policy."); !findings.empty()) {
    throw config::to_error(findings);
  }
  const Architecture sizes = config.sizes();
  const at::ScalarType dtype = body_dtype_of(config);
  const int64_t D = sizes.paligemma.width, W = sizes.action_expert.width;
  const int64_t grid = config.image_resolution[0] / sizes.vision.patch_size;
  const int64_t condition_width = config.is_pi05() ? W : 0;
  const auto small = [](int64_t in, int64_t out) { return nn::make_linear(in, out, /*bias=*/true, at::kFloat); };

  FlowNet net;
  net.is_pi05 = config.is_pi05();
  net.head_dim = sizes.paligemma.head_dim;
  net.paligemma = {.lm_head = at::empty({sizes.vocab_size, D}, dtype),
                   .vision_tower = nn::make_siglip({.width = sizes.vision.width,
                                                    .depth = sizes.vision.depth,
                                                    .num_heads = sizes.vision.num_heads,
                                                    .mlp_dim = sizes.vision.mlp_dim,
                                                    .patch_size = sizes.vision.patch_size,
                                                    .num_patches = grid * grid}),
                   .projector = small(sizes.vision.width, D),
                   .embed_tokens = at::empty({sizes.vocab_size, D}, dtype),
                   .layers = make_layers(sizes.paligemma, /*condition_width=*/0, dtype),
                   .norm = nn::make_rms_norm(D)};
  net.expert = {.lm_head = at::empty({sizes.vocab_size, W}, dtype),
                .layers = make_layers(sizes.action_expert, condition_width, dtype),
                .norm = make_norm(W, condition_width)};
  net.action_in_proj = small(config.max_action_dim, W);
  net.action_out_proj = small(W, config.max_action_dim);
  if (net.is_pi05) {
    net.time_mlp_in = small(W, W);
    net.time_mlp_out = small(W, W);
  } else {
    net.state_proj = small(config.max_state_dim, W);
    net.action_time_mlp_in = small(2 * W, W);
    net.action_time_mlp_out = small(W, W);
  }
  return net;
}

}  // namespace flexor::models
