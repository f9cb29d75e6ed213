#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>

namespace flexor::models {

/// Block starts of the suffix: [S] float32, 1 where a token opens a block that earlier tokens cannot see.
/// pi0: state and first action (S = horizon + 1); pi0.5: first action (S = horizon).
at::Tensor suffix_att_masks(bool is_pi05, int64_t horizon, const at::TensorOptions& options);

/// Which keys a query may see: blocks up to its own, real tokens only.
/// @param att  [N] block starts of all tokens  @param pad  [B, N] bool, true = real token
/// @return     rows `first`..N-1 of [B, N, N] bool, query by key
at::Tensor attention_rows(const at::Tensor& att, const at::Tensor& pad, int64_t first);

/// 0 where allowed, else -2.3819763e38: finite, so that a row without any allowed key gives a uniform softmax, not NaN.
/// @param allowed  [B, Q, N] bool  @return [B, 1, Q, N] float32
at::Tensor additive_mask(const at::Tensor& allowed);

/// Position ids: number of real tokens up to and including this one, minus 1. [B, N] bool -> [B, N] int64
at::Tensor position_ids(const at::Tensor& pad);

/// The token that fills prompts up; its embedding gets no gradient.
inline constexpr int64_t kPadToken = 0;

/// Tokens up to the last real one of any prompt, at least 1. @param mask  [B, L] bool, true = real token
int64_t longest_prompt(const at::Tensor& mask);

}  // namespace flexor::models
