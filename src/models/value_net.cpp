#include "models/value_net.h"

#include <string>
#include <utility>

#include "tensor/tensor.h"

namespace flexor::models {
namespace {

// Scopes of the reference's module tree that hold nothing of their own.
struct ExpertParams {
  CriticExpert& expert;
  void params(nn::ParamVisitor& v) { v.scope("value.model", expert); }
};

struct Gemma3Params {
  Gemma3Stack& gemma3;
  void params(nn::ParamVisitor& v) { v.scope("model", gemma3); }
};

struct BackboneParams {
  ValueNet& net;
  void params(nn::ParamVisitor& v) {
    Gemma3Params gemma3{net.gemma3};
    ExpertParams experts{net.expert};
    v.scope("vision_tower", net.vision);
    v.scope("gemma3", gemma3);
    v.scope("multi_modal_proj", net.multi_modal_proj);
    v.scope("experts", experts);
  }
};

struct HeadParams {
  ValueNet& net;
  void params(nn::ParamVisitor& v) {
    v("cls_embedding.weight", net.cls_embedding);
    v.scope("value_proj", net.value_proj);
  }
};

nn::GemmaLayer make_gemma_layer(const schema::GemmaSize& size) {
  const int64_t W = size.width, E = size.head_dim;
  const auto linear = [](int64_t in, int64_t out) { return nn::make_linear(in, out, /*bias=*/false, at::kFloat); };
  return {.self_attn = {.q_proj = linear(W, size.num_heads * E),
                        .k_proj = linear(W, size.num_kv_heads * E),
                        .v_proj = linear(W, size.num_kv_heads * E),
                        .o_proj = linear(size.num_heads * E, W)},
          .mlp = {.gate_proj = linear(W, size.mlp_dim),
                  .up_proj = linear(W, size.mlp_dim),
                  .down_proj = linear(size.mlp_dim, W)},
          .input_layernorm = nn::make_rms_norm(W),
          .post_attention_layernorm = nn::make_rms_norm(W)};
}

}  // namespace

void Gemma3Stack::params(nn::ParamVisitor& v) {
  v("embed_tokens.weight", embed_tokens);
  for (size_t i = 0; i < layers.size(); ++i) {
    v.scope("layers." + std::to_string(i), layers[i]);
  }
  v.scope("norm", norm);
}

void VisionTower::params(nn::ParamVisitor& v) {
  tower.params(v);
  v.scope("vision_model.head", pool);
}

void CriticExpert::params(nn::ParamVisitor& v) {
  for (size_t i = 0; i < layers.size(); ++i) {
    v.scope("layers." + std::to_string(i), layers[i]);
  }
  v.scope("norm", norm);
}

void ValueNet::params(nn::ParamVisitor& v) {
  BackboneParams backbone{*this};
  HeadParams head{*this};
  v.scope("value_expert", backbone);
  v.scope("value_head", head);
}

ModelBlocks ValueNet::blocks(size_t read) const {
  const std::string root = "value_expert.", vision_model = root + "vision_tower.vision_model.";
  std::vector<ParamBlock> order{{{root + "gemma3.model.embed_tokens."}, /*read_in_backward=*/false}};
  for (const auto& [scope, count] :
       {std::pair(vision_model + "encoder.", vision.tower.layers.size()), std::pair(root + "gemma3.model.", read),
        std::pair(root + "experts.value.model.", expert.layers.size())}) {
    const std::vector<ParamBlock> layers = layer_blocks(scope, count);
    order.insert(order.end(), layers.begin(), layers.end());
  }
  return {{std::move(order)}, {vision_model + "head.", root + "gemma3.model."}};
}

Gemma3Stack make_gemma3(const Gemma3Size& size) {
  Gemma3Stack stack;
  stack.embed_tokens = at::empty({size.vocab_size, size.width}, at::kFloat);
  stack.layers.reserve(static_cast<size_t>(size.depth));
  for (int64_t i = 0; i < size.depth; ++i) {
    stack.layers.push_back(nn::make_gemma3_layer({.width = size.width,
                                                  .mlp_dim = size.mlp_dim,
                                                  .num_heads = size.num_heads,
                                                  .num_kv_heads = size.num_kv_heads,
                                                  .head_dim = size.head_dim,
                                                  .query_pre_attn_scalar = size.query_pre_attn_scalar}));
  }
  stack.norm = nn::make_rms_norm(size.width);
  return stack;
}

VisionTower make_vision_tower(const schema::VisionSize& size, int64_t image_size) {
  const int64_t side = image_size / size.patch_size;
  return {.tower = nn::make_siglip({.width = size.width,
                                    .depth = size.depth,
                                    .num_heads = size.num_heads,
                                    .mlp_dim = size.mlp_dim,
                                    .patch_size = size.patch_size,
                                    .num_patches = side * side}),
          .pool = nn::make_siglip_pool(size.width, size.mlp_dim)};
}

ValueNet make_value_net(const ValueConfig& config) {
  const ValueArchitecture& sizes = config.architecture;
  ValueNet net;
  net.vision = make_vision_tower(sizes.vision, sizes.image_size);
  net.gemma3 = make_gemma3(sizes.gemma3);
  net.multi_modal_proj = nn::make_linear(sizes.vision.width, sizes.gemma3.width, /*bias=*/true, at::kFloat);
  for (int64_t i = 0; i < sizes.expert.depth; ++i) {
    net.expert.layers.push_back(make_gemma_layer(sizes.expert));
  }
  net.expert.norm = nn::make_rms_norm(sizes.expert.width);
  net.cls_embedding = at::empty({1, sizes.expert.width}, at::kFloat);
  net.value_proj = nn::make_linear(sizes.expert.width, config.num_bins, /*bias=*/true, at::kFloat);
  return net;
}

}  // namespace flexor::models
