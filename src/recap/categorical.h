#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>

namespace flexor::recap {

/// The support of a categorical value: `num_bins` atoms from v_min to v_max (C51, arXiv:1707.06887).
struct Bins {
  int64_t num_bins = 201;
  double v_min = -1.0, v_max = 0.0;
  double delta() const { return (v_max - v_min) / static_cast<double>(num_bins - 1); }
};

/// The two neighbouring bins of every target and their weights; the upper one's weight is 0 on an atom.
/// @param targets  [B]; clamped to the support  @return [B, num_bins] float32, rows sum to 1
at::Tensor two_hot(const at::Tensor& targets, const Bins& bins);

/// Cross-entropy of each sample against two_hot. @param logits  [B, num_bins]  @return [B] float32
/// @throws Error(kRuntime) if the sizes disagree
at::Tensor categorical_losses(const at::Tensor& logits, const at::Tensor& targets, const Bins& bins);

}  // namespace flexor::recap
