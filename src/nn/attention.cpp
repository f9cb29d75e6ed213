#include "nn/attention.h"

#include <ATen/ops/scaled_dot_product_attention.h>

#include <cmath>
#include <optional>

#include "tensor/tensor.h"

namespace flexor::nn {
namespace {

/// The rows of a mask [B, 1, Q, N], repeated for the G heads that share a key: [B, 1, Q * G, N].
Tensor repeat_rows(const Tensor& mask, int64_t group) {
  if (!mask.defined() || mask.size(2) == 1 || group == 1) {
    return mask;
  }
  return mask.unsqueeze(3).expand({-1, -1, -1, group, -1}).flatten(2, 3);
}

}  // namespace

Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool fused) {
  const int64_t B = q.size(0), Q = q.size(1), H = q.size(2), E = q.size(3), K = k.size(2), G = H / K;
  const double scale = 1.0 / std::sqrt(static_cast<double>(E));
  // Heads that share a key become further query rows, so keys and values are never repeated; with K = 1 it is a view.
  const Tensor rows = q.reshape({B, Q, K, G, E}).transpose(1, 2).reshape({B, K, Q * G, E});
  const Tensor keys = k.transpose(1, 2), values = v.transpose(1, 2);  // [B, K, N, E]
  const Tensor bias = repeat_rows(mask, G);
  Tensor out;  // [B, K, Q * G, E]
  if (fused) {
    const auto optional_bias = bias.defined() ? std::optional(bias) : std::nullopt;
    out = at::scaled_dot_product_attention(rows, keys, values, optional_bias, /*dropout_p=*/0.0, /*is_causal=*/false, scale);
  } else {
    Tensor scores = at::matmul(rows, keys.transpose(2, 3)) * scale;  // [B, K, Q * G, N]
    if (bias.defined()) {
      scores = scores + bias;
    }
    out = at::matmul(at::softmax(scores, -1, at::kFloat).to(q.scalar_type()), values);
  }
  return out.reshape({B, K, Q, G, E}).transpose(1, 2).reshape({B, Q, H * E});
}

}  // namespace flexor::nn
