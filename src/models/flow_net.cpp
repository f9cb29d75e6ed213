#include "models/flow_net.h"

#include <string>
#include <tuple>

#include "base/error.h"
#include "base/str_cat.h"
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

/// Collects what is wrong, so that all of it is told at once.
struct Problems {
  std::string text;
  void add(bool wrong, const std::string& what) {
    if (wrong) {
      text += (text.empty() ? "" : "; ") + what;
    }
  }
};

void check_gemma(const GemmaSize& size, const std::string& name, Problems& problems) {
  problems.add(size.width <= 0 || size.depth <= 0 || size.mlp_dim <= 0 || size.num_heads <= 0 ||
                   size.num_kv_heads <= 0 || size.head_dim <= 0,
               name + " has a size that is not positive");
  problems.add(size.num_kv_heads > 0 && size.num_heads % size.num_kv_heads != 0,
               str_cat(name, ".num_heads ", size.num_heads, " is no multiple of num_kv_heads ", size.num_kv_heads));
  problems.add(size.head_dim % 2 != 0, str_cat(name, ".head_dim ", size.head_dim, " is odd"));
}

void check_sizes(const PolicyConfig& config, const Architecture& sizes) {
  Problems problems;
  const auto& [vlm, expert] = std::tie(sizes.paligemma, sizes.action_expert);
  check_gemma(vlm, "paligemma", problems);
  check_gemma(expert, "action_expert", problems);
  const auto must_agree = [&](int64_t a, int64_t b, const char* what) {
    problems.add(a != b, str_cat("paligemma.", what, " ", a, " and action_expert.", what, " ", b, " differ"));
  };
  must_agree(vlm.depth, expert.depth, "depth");
  must_agree(vlm.num_heads, expert.num_heads, "num_heads");
  must_agree(vlm.num_kv_heads, expert.num_kv_heads, "num_kv_heads");
  must_agree(vlm.head_dim, expert.head_dim, "head_dim");
  problems.add(expert.width % 2 != 0 || expert.width < 4,
               str_cat("action_expert.width ", expert.width, " is odd or below 4"));
  const auto& vision = sizes.vision;
  problems.add(vision.width <= 0 || vision.depth <= 0 || vision.num_heads <= 0 || vision.mlp_dim <= 0 ||
                   vision.patch_size <= 0 || sizes.vocab_size <= 0,
               "vision or vocab_size is not positive");
  problems.add(vision.num_heads > 0 && vision.width % vision.num_heads != 0,
               str_cat("vision.width ", vision.width, " is no multiple of num_heads ", vision.num_heads));
  const auto& [height, width] = config.image_resolution;
  problems.add(height != width || vision.patch_size <= 0 || height % vision.patch_size != 0 || height <= 0,
               str_cat("image_resolution [", height, ", ", width, "] is not a square of whole patches of ",
                       vision.patch_size, " pixels"));
  problems.add(config.chunk_size <= 0 || config.max_action_dim <= 0 || config.max_state_dim <= 0,
               "chunk_size, max_action_dim or max_state_dim is not positive");
  problems.add(config.action_dim() > config.max_action_dim,
               str_cat("action has ", config.action_dim(), " values, max_action_dim is ", config.max_action_dim));
  problems.add(!config.is_pi05() && config.state_dim() > config.max_state_dim,
               str_cat("state has ", config.state_dim(), " values, max_state_dim is ", config.max_state_dim));
  if (!problems.text.empty()) {
    throw Error(ErrorKind::kConfig, problems.text, "policy", "see architecture, paligemma_variant and the *_dim keys");
  }
}

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

FlowNet make_flow_net(const PolicyConfig& config) {
  const Architecture sizes = config.sizes();
  check_sizes(config, sizes);
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
