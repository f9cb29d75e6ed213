#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>

namespace flexor::nn {

/// Cosines and sines of the rotary position embedding (arXiv:2104.09864) for some tokens.
struct RopeTable {
  at::Tensor cos, sin;  ///< [B, L, 1, E/2], dtype of the queries
};

/// Angles are position * base^(-2j/E), j = 0..E/2-1, in float32.
/// @param positions        [B, L] int64
/// @param head_dim         E, even
/// @param round_frequency  round the frequencies to bfloat16 first, as the reference's bfloat16 mode does
RopeTable rope_table(const at::Tensor& positions, int64_t head_dim, at::ScalarType dtype, bool round_frequency,
                     double base = 10000.0);

/// Rotates the pairs (x[j], x[j + E/2]) of every head. @param x  [B, L, H, E]  @param fused  by an operator of the
/// device, where it has one  @return the same shape and dtype
at::Tensor apply_rope(const at::Tensor& x, const RopeTable& table, bool fused = true);

/// [B, L, H E] -> [B, L, H, E] with the table's E.
at::Tensor split_heads(const at::Tensor& x, const RopeTable& table);

}  // namespace flexor::nn
