#include "nn/siglip_pool.h"

#include "nn/attention.h"
#include "nn/fused_ops.h"
#include "tensor/tensor.h"

namespace flexor::nn {
namespace {

struct PoolAttentionParams {
  SiglipPool& pool;
  void params(ParamVisitor& v) {
    v("in_proj_weight", pool.in_weight);
    v("in_proj_bias", pool.in_bias);
    v.scope("out_proj", pool.out_proj);
  }
};

struct PoolMlpParams {
  SiglipPool& pool;
  void params(ParamVisitor& v) {
    v.scope("fc1", pool.fc1);
    v.scope("fc2", pool.fc2);
  }
};

}  // namespace

Tensor SiglipPool::operator()(const Tensor& patches, int64_t num_heads, bool fused) const {
  const int64_t N = patches.size(0), P = patches.size(1), W = patches.size(2), E = W / num_heads;
  const auto weights = in_weight.chunk(3, 0), biases = in_bias.chunk(3, 0);
  const Tensor query = at::linear(probe, weights[0], biases[0]);  // [1, 1, W]: the same for every picture
  const Tensor q = query.expand({N, 1, W}).reshape({N, 1, num_heads, E});
  const Tensor k = at::linear(patches, weights[1], biases[1]).view({N, P, num_heads, E});
  const Tensor v = at::linear(patches, weights[2], biases[2]).view({N, P, num_heads, E});
  const Tensor attended = out_proj(attend(q, k, v, /*mask=*/{}, fused), fused);  // [N, 1, W]
  const Tensor hidden = fc1(layernorm(attended), fused);
  return (attended + fc2(fused ? fused_gelu(hidden) : at::gelu(hidden, "tanh"), fused)).squeeze(1);
}

void SiglipPool::params(ParamVisitor& v) {
  PoolAttentionParams attention{*this};
  PoolMlpParams mlp{*this};
  v("probe", probe);
  v.scope("attention", attention);
  v.scope("layernorm", layernorm);
  v.scope("mlp", mlp);
}

SiglipPool make_siglip_pool(int64_t width, int64_t mlp_dim) {
  return {.probe = at::empty({1, 1, width}, at::kFloat),
          .in_weight = at::empty({3 * width, width}, at::kFloat),
          .in_bias = at::empty({3 * width}, at::kFloat),
          .out_proj = make_linear(width, width, /*bias=*/true, at::kFloat),
          .layernorm = make_layer_norm(width),
          .fc1 = make_linear(width, mlp_dim, /*bias=*/true, at::kFloat),
          .fc2 = make_linear(mlp_dim, width, /*bias=*/true, at::kFloat)};
}

}  // namespace flexor::nn
