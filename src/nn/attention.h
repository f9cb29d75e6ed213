#pragma once
#include <ATen/core/Tensor.h>

namespace flexor::nn {

/// Grouped-query attention; query head h reads kv head h / (H / K).
/// Axes: B batch, Q query tokens, N key tokens, H query heads, K kv heads, E head_dim.
/// @param q      [B, Q, H, E]
/// @param k, v   [B, N, K, E], dtype of q
/// @param mask   added to the scores before the softmax: float32 [B, 1, Q or 1, N], or undefined
/// @param fused  whichever is fastest, mostly one kernel that never stores the scores; else the reference's steps and
///               roundings: scores in q's dtype, softmax in float32, weights in q's dtype
/// @return       [B, Q, H * E], dtype of q
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask, bool fused);

}  // namespace flexor::nn
