#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flexor::recap {

/// STEAM's bins: signed strides -K..-1, 1..K between two frames in num_bins classes, backward ones first. Two bins:
/// backward, forward. Axes: M members, B samples, N bins.
struct StrideBins {
  int64_t k = 32, num_bins = 32;

  /// @throws Error(kConfig) unless num_bins is even and 2 K a multiple of it (num_bins 2: always fine)
  void check() const;
  int64_t bin(int64_t stride) const;  ///< of 1 <= |stride| <= K
  /// Of a stride that was stretched by max(1, L_ref / T): rounded half to even, 0 becomes +-1, clamped to +-K.
  int64_t scaled_bin(double stride) const;
  std::vector<double> centers() const;  ///< mean stride of each bin
  /// -1..1, in steps of 2 / num_bins without 0: what the score averages.
  std::vector<double> scores() const;
};

/// Cross-entropy with label smoothing: [B, N], [B] -> [B].
at::Tensor smoothed_cross_entropy(const at::Tensor& logits, const at::Tensor& labels, double smoothing);

/// Of how many samples the likeliest bin is the label, and of how many at most one beside it. [B, N], [B]
struct BinHits {
  double best = 0, neighbor = 0;
};
BinHits bin_hits(const at::Tensor& logits, const at::Tensor& labels);

/// What an ensemble says of frames.
struct SteamScores {
  at::Tensor member_values = {};                  ///< [M, B] sum_b p_b * score_b
  at::Tensor min = {}, mean = {}, variance = {};  ///< [B] over members; min is the score, variance divides by M
  at::Tensor worst_probs = {};                    ///< [B, N] of the member with the smallest value
  at::Tensor expected_stride_normalized = {};     ///< [B] of that member: sum_b p_b * center_b / K
  at::Tensor entropy = {};                        ///< [B] of that member, in nats
  at::Tensor member_entropy = {};                 ///< [M, B]
};
/// @param logits  [M, B, N]
SteamScores steam_scores(const at::Tensor& logits, const StrideBins& bins);

/// Labels of the two pools by their thresholds.
struct SteamRules {
  std::string label_mode = "quantile";  ///< or threshold
  double rollout_quantile = 0.3;
  std::optional<double> expert_quantile = {};     ///< unset: every sft frame is positive
  std::optional<double> positive_threshold = {};  ///< label_mode threshold
};
struct SteamThresholds {
  std::optional<double> rollout = {}, sft = {};  ///< null: no frames of that kind, or no threshold (all positive)
};
/// @throws Error(kData) for scores that are not finite
SteamThresholds steam_thresholds(const std::vector<double>& rollout, const std::vector<double>& sft,
                                 const SteamRules& rules);
/// score > threshold; every frame without threshold.
std::vector<uint8_t> steam_labels(const std::vector<double>& scores, std::optional<double> threshold);

}  // namespace flexor::recap
