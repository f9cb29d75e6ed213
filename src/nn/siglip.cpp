#include "nn/siglip.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <string>

#include "nn/attention.h"
#include "nn/fused_ops.h"
#include "nn/named_params.h"
#include "nn/run_block.h"
#include "tensor/tensor.h"

namespace flexor::nn {
namespace {

// Scopes of the reference's module tree that hold nothing of their own.
struct AttentionParams {
  SiglipLayer& layer;
  void params(ParamVisitor& v) {
    v.scope("k_proj", layer.k_proj);
    v.scope("v_proj", layer.v_proj);
    v.scope("q_proj", layer.q_proj);
    v.scope("out_proj", layer.out_proj);
  }
};

struct MlpParams {
  SiglipLayer& layer;
  void params(ParamVisitor& v) {
    v.scope("fc1", layer.fc1);
    v.scope("fc2", layer.fc2);
  }
};

struct ModelParams {
  SiglipTower& tower;
  void params(ParamVisitor& v) {
    v("embeddings.patch_embedding.weight", tower.patch_weight);
    v("embeddings.patch_embedding.bias", tower.patch_bias);
    v("embeddings.position_embedding.weight", tower.position_table);
    for (size_t i = 0; i < tower.layers.size(); ++i) {
      v.scope("encoder.layers." + std::to_string(i), tower.layers[i]);
    }
    v.scope("post_layernorm", tower.post_layernorm);
  }
};

bool is_trained(SiglipLayer layer) {
  return any_trainable(layer);
}

/// The reference's vision tower calls PyTorch's kernel even where its language model does not.
Tensor full_attention(const Tensor& q, const Tensor& k, const Tensor& v, bool fused) {
  if (fused) {
    return attend(q, k, v, /*mask=*/{}, /*fused=*/true);
  }
  const Tensor out = at::scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2));
  return out.transpose(1, 2).flatten(2);
}

}  // namespace

Tensor SiglipLayer::operator()(const Tensor& h, int64_t num_heads, bool fused) const {
  const int64_t N = h.size(0), P = h.size(1), W = h.size(2);
  const Tensor n = layer_norm1(h);
  const auto heads = [&](const Linear& projection) {
    return projection(n, fused).view({N, P, num_heads, W / num_heads});  // [N, P, H, E]
  };
  const Tensor attended = full_attention(heads(q_proj), heads(k_proj), heads(v_proj), fused);  // [N, P, W]
  const Tensor middle = h + out_proj(attended, fused);
  const Tensor hidden = fc1(layer_norm2(middle), fused);
  return middle + fc2(fused ? fused_gelu(hidden) : at::gelu(hidden, "tanh"), fused);
}

void SiglipLayer::params(ParamVisitor& v) {
  AttentionParams attention{*this};
  MlpParams mlp{*this};
  v.scope("layer_norm1", layer_norm1);
  v.scope("self_attn", attention);
  v.scope("layer_norm2", layer_norm2);
  v.scope("mlp", mlp);
}

Tensor SiglipTower::embed(const Tensor& pixels) const {
  const int64_t p = patch_weight.size(-1);
  const Tensor patches = at::conv2d(pixels, patch_weight, patch_bias, /*stride=*/{p, p});  // [N, W, S/p, S/p]
  return patches.flatten(2).transpose(1, 2) + position_table;                              // [N, P, W]
}

Tensor SiglipTower::operator()(const Tensor& pixels, bool fused, bool recompute) const {
  Tensor h = embed(pixels);
  for (const SiglipLayer& layer : layers) {
    const auto run = [&layer, heads = num_heads, fused](const Tensors& in) {
      return Tensors{layer(in[0], heads, fused)};
    };
    const bool again = recompute && (h.requires_grad() || is_trained(layer));
    h = run_block(layer.q_proj.weight, run, {h}, again)[0];
  }
  return post_layernorm(h);
}

void SiglipTower::params(ParamVisitor& v) {
  ModelParams model{*this};
  v.scope("vision_model", model);
}

SiglipTower make_siglip(const SiglipSize& size) {
  const int64_t W = size.width;
  const auto square = [&] { return make_linear(W, W, /*bias=*/true, at::kFloat); };
  SiglipTower tower;
  tower.patch_weight = at::empty({W, 3, size.patch_size, size.patch_size});
  tower.patch_bias = at::empty({W});
  tower.position_table = at::empty({size.num_patches, W});
  tower.num_heads = size.num_heads;
  tower.layers.reserve(size.depth);
  for (int64_t i = 0; i < size.depth; ++i) {
    tower.layers.push_back({.layer_norm1 = make_layer_norm(W),
                            .k_proj = square(),
                            .v_proj = square(),
                            .q_proj = square(),
                            .out_proj = square(),
                            .layer_norm2 = make_layer_norm(W),
                            .fc1 = make_linear(W, size.mlp_dim, /*bias=*/true, at::kFloat),
                            .fc2 = make_linear(size.mlp_dim, W, /*bias=*/true, at::kFloat)});
  }
  tower.post_layernorm = make_layer_norm(W);
  return tower;
}

}  // namespace flexor::nn
