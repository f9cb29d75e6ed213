#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flexor::recap {

/// Rank correlation as the reference defines it: Pearson of ordinal ranks from a stable sort, so that ties get distinct
/// ranks in the order of the input. 0 for fewer than two values. Sizes must be equal.
double value_spearman(std::span<const float> a, std::span<const float> b);

/// Rank correlation with ties sharing their mean rank; null where it is undefined (fewer than two values, or all
/// equal).
std::optional<double> value_spearman_tied(std::span<const float> a, std::span<const float> b);

/// Predictions of a batch beside their targets.
/// Bins: b = (clamp(target) - v_min) / delta, l = floor b, u = ceil b.
struct ValueOutput {
  at::Tensor logits;   ///< [B, K]
  at::Tensor targets;  ///< [B] normalised returns, not clamped
  at::Tensor values;   ///< [B] expectation over the bins
  at::Tensor losses;   ///< [B] cross-entropy of each sample
  double v_min = -1.0, v_max = 0.0;
};

/// Sums over samples, from which every metric follows whatever the batches and ranks were: a tail of one sample or an
/// empty rank does no harm. Correlations need the values themselves, so they are kept.
///
///   loss              mean cross-entropy
///   mae               mean of delta * min(|argmax - l|, |argmax - u|): about the best bin, not about V
///   value_mae         mean of |V - target|
///   cat_acc_best      share of argmax == the bin with the larger weight (the lower one of equal weights)
///   cat_acc_neighbor  share of argmax in {l, u}
///   predicted_value_{mean,std}, target_value_{mean,std}   over all samples; std with n - 1, left out below two samples
///   value_spearman, value_spearman_tied
class ValueMetrics {
 public:
  void add(const ValueOutput& output);
  /// Adds what was gathered elsewhere; batch after batch in one order, the result does not depend on who gathered.
  void add(const ValueMetrics& other);
  /// All of it as numbers, to send to another rank, and back.
  std::vector<double> packed() const;
  static ValueMetrics unpacked(std::span<const double> numbers);
  int64_t count() const { return static_cast<int64_t>(values_.size()); }
  std::span<const float> values() const { return values_; }
  std::span<const float> targets() const { return targets_; }
  /// Empty for no samples.
  std::map<std::string, double> metrics() const;

 private:
  std::vector<float> values_, targets_;
  double loss_ = 0, bin_error_ = 0, num_best_ = 0, num_neighbor_ = 0;
};

/// The reference's step and evaluation metrics: the plain mean over batches of each batch's metrics (an unbiased std of
/// one sample is NaN there). Kept beside ValueMetrics for comparisons with its logs.
std::map<std::string, double> mean_batch_metrics(std::span<const ValueMetrics> batches);

}  // namespace flexor::recap
