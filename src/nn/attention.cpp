#include "nn/attention.h"

#include <ATen/ops/scaled_dot_product_attention.h>
#include <cmath>
#include <optional>
#include <vector>

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

// Of bfloat16 the CPU's fused kernel multiplies at float32 speed, and the matrix product twice as fast: explicit scores
// win as long as those of one sample stay in the cache and those of all, kept for the gradient, are few.
constexpr int64_t kMostScoreBytes = 32 << 20;

bool prefers_scores(const Tensor& rows, const Tensor& keys) {
  return rows.is_cpu() && rows.scalar_type() == at::kBFloat16 &&
         rows.numel() / rows.size(3) * keys.size(2) * rows.element_size() <= kMostScoreBytes;
}

/// Attention of one sample after the other. Shapes as in attend() below, heads in front.
Tensor attend_by_sample(const Tensor& rows, const Tensor& keys, const Tensor& values, const Tensor& bias,
                        double scale) {
  // Unbound rather than indexed: the gradient of an index is a whole tensor of zeros.
  const auto q = (rows * scale).unbind(0), k = keys.unbind(0), v = values.unbind(0);
  const Tensor low_bias = bias.defined() ? bias.to(rows.scalar_type()) : bias;
  std::vector<Tensor> samples;
  samples.reserve(q.size());
  for (size_t b = 0; b < q.size(); ++b) {
    Tensor scores = at::matmul(q[b], k[b].transpose(1, 2));  // [K, Q * G, N]
    if (bias.defined()) {
      scores.add_(low_bias[bias.size(0) == 1 ? 0 : static_cast<int64_t>(b)]);
    }
    samples.push_back(at::matmul(at::softmax(scores, -1), v[b]));
  }
  return at::stack(samples);
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
  if (fused && prefers_scores(rows, keys)) {
    out = attend_by_sample(rows, keys, values, bias, scale);
  } else if (fused) {
    const auto optional_bias = bias.defined() ? std::optional(bias) : std::nullopt;
    out = at::scaled_dot_product_attention(rows, keys, values, optional_bias, /*dropout_p=*/0.0, /*is_causal=*/false,
                                           scale);
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
