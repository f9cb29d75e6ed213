#include "recap/steam.h"

#include <ATen/ops/nll_loss.h>
#include <algorithm>
#include <cfenv>
#include <cmath>

#include "base/error.h"
#include "base/str_cat.h"
#include "recap/threshold.h"
#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

at::Tensor row_of(const std::vector<double>& values, const at::Tensor& like) {
  return at::tensor(values, at::kDouble).to(like.options());
}

at::Tensor entropy_of(const at::Tensor& probs) {
  constexpr double kSmallest = 1e-12;
  return -(probs * probs.clamp_min(kSmallest).log()).sum(-1);
}

}  // namespace

void StrideBins::check() const {
  if (num_bins % 2 != 0 || (num_bins > 2 && 2 * k % num_bins != 0)) {
    throw Error(ErrorKind::kConfig,
                str_cat("expected an even number of bins that divides 2 * k = ", 2 * k, ", found ", num_bins),
                "actor.steam.num_bins");
  }
}

int64_t StrideBins::bin(int64_t stride) const {
  return (stride < 0 ? stride + k : stride + k - 1) * num_bins / (2 * k);
}

int64_t StrideBins::scaled_bin(double stride) const {
  auto whole = static_cast<int64_t>(std::nearbyint(stride));  // halves to even
  if (whole == 0) {
    whole = stride < 0 ? -1 : 1;
  }
  return bin(std::clamp(whole, -k, k));
}

std::vector<double> StrideBins::centers() const {
  std::vector<double> sums(static_cast<size_t>(num_bins)), counts(sums.size());
  for (int64_t stride = -k; stride <= k; ++stride) {
    if (stride != 0) {
      sums[static_cast<size_t>(bin(stride))] += static_cast<double>(stride);
      counts[static_cast<size_t>(bin(stride))] += 1;
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    sums[i] /= counts[i];
  }
  return sums;
}

std::vector<double> StrideBins::scores() const {
  const int64_t half = num_bins / 2;
  std::vector<double> result;
  for (int64_t i = -half; i <= half; ++i) {
    if (i != 0) {
      result.push_back(static_cast<double>(i) / static_cast<double>(half));
    }
  }
  return result;
}

at::Tensor smoothed_cross_entropy(const at::Tensor& logits, const at::Tensor& labels, double smoothing) {
  const at::Tensor log_probs = logits.to(at::kFloat).log_softmax(-1);
  const at::Tensor chosen = log_probs.gather(-1, labels.to(at::kLong).unsqueeze(-1)).squeeze(-1);
  return -(1.0 - smoothing) * chosen - smoothing * log_probs.mean(-1);
}

BinHits bin_hits(const at::Tensor& logits, const at::Tensor& labels) {
  const at::Tensor off = (logits.argmax(-1) - labels).abs();
  return {.best = off.eq(0).sum().item<double>(), .neighbor = off.le(1).sum().item<double>()};
}

SteamScores steam_scores(const at::Tensor& logits, const StrideBins& bins) {
  const at::Tensor probs = logits.to(at::kFloat).softmax(-1);  // [M, B, N]
  SteamScores result;
  result.member_values = (probs * row_of(bins.scores(), probs)).sum(-1);
  const at::Tensor worst = result.member_values.argmin(0);  // [B]
  result.min = result.member_values.amin(0);
  result.mean = result.member_values.mean(0);
  result.variance = (result.member_values - result.mean).square().mean(0);
  const at::Tensor index = worst.view({1, -1, 1}).expand({1, probs.size(1), probs.size(2)});
  result.worst_probs = probs.gather(0, index).squeeze(0);  // [B, N]
  result.expected_stride_normalized =
      (result.worst_probs * row_of(bins.centers(), probs)).sum(-1) / static_cast<double>(bins.k);
  result.entropy = entropy_of(result.worst_probs);
  result.member_entropy = entropy_of(probs);
  return result;
}

SteamThresholds steam_thresholds(const std::vector<double>& rollout, const std::vector<double>& sft,
                                 const SteamRules& rules) {
  for (const auto* scores : {&rollout, &sft}) {
    if (!std::all_of(scores->begin(), scores->end(), [](double score) { return std::isfinite(score); })) {
      throw Error(ErrorKind::kData, "a score of the ensemble is not a finite number");
    }
  }
  if (rules.label_mode == "threshold") {
    return {.rollout = rules.positive_threshold, .sft = std::nullopt};
  }
  SteamThresholds thresholds;
  if (!rollout.empty()) {
    thresholds.rollout = positive_threshold(rollout, rules.rollout_quantile);
  }
  if (!sft.empty() && rules.expert_quantile) {
    thresholds.sft = positive_threshold(sft, *rules.expert_quantile);
  }
  return thresholds;
}

std::vector<uint8_t> steam_labels(const std::vector<double>& scores, std::optional<double> threshold) {
  std::vector<uint8_t> labels;
  labels.reserve(scores.size());
  for (const double score : scores) {
    labels.push_back(!threshold || score > *threshold ? 1 : 0);
  }
  return labels;
}

}  // namespace flexor::recap
