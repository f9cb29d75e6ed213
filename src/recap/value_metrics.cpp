#include "recap/value_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

/// Positions in ascending order of their values, equal ones in the order of the input.
std::vector<size_t> stable_order(std::span<const float> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [values](size_t a, size_t b) { return values[a] < values[b]; });
  return order;
}

std::vector<double> ordinal_ranks(std::span<const float> values) {
  const std::vector<size_t> order = stable_order(values);
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size(); ++i) {
    ranks[order[i]] = static_cast<double>(i);
  }
  return ranks;
}

std::vector<double> mean_ranks(std::span<const float> values) {
  const std::vector<size_t> order = stable_order(values);
  std::vector<double> ranks(values.size());
  for (size_t first = 0; first < order.size();) {
    size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) {
      ++end;
    }
    for (size_t i = first; i < end; ++i) {
      ranks[order[i]] = (static_cast<double>(first) + static_cast<double>(end - 1)) / 2;
    }
    first = end;
  }
  return ranks;
}

/// Null if either side does not vary.
std::optional<double> pearson(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa == 0 || bb == 0 ? std::nullopt : std::optional(ab / std::sqrt(aa * bb));
}

struct MeanStd {
  double mean = 0, std = 0;  // std with n - 1, NaN for a single value
};

MeanStd mean_std(std::span<const float> values) {
  const auto n = static_cast<double>(values.size());
  MeanStd result;
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const float value : values) {
    squares += (value - result.mean) * (value - result.mean);
  }
  result.std = values.size() < 2 ? std::numeric_limits<double>::quiet_NaN() : std::sqrt(squares / (n - 1));
  return result;
}

void append(const at::Tensor& from, std::vector<float>& to) {
  const at::Tensor flat = from.detach().to(at::kCPU, at::kFloat).contiguous();
  const float* data = flat.const_data_ptr<float>();
  to.insert(to.end(), data, data + flat.numel());
}

}  // namespace

double value_spearman(std::span<const float> a, std::span<const float> b) {
  return a.size() < 2 ? 0.0 : pearson(ordinal_ranks(a), ordinal_ranks(b)).value_or(0.0);
}

std::optional<double> value_spearman_tied(std::span<const float> a, std::span<const float> b) {
  return a.size() < 2 ? std::nullopt : pearson(mean_ranks(a), mean_ranks(b));
}

void ValueMetrics::add(const ValueOutput& output) {
  const size_t first = values_.size();
  append(output.values, values_);
  append(output.targets, targets_);
  const at::Tensor best = output.logits.detach().to(at::kCPU).argmax(-1).to(at::kLong).contiguous();
  const int64_t* bins = best.const_data_ptr<int64_t>();
  const auto low = static_cast<float>(output.v_min), high = static_cast<float>(output.v_max);
  const double delta = (output.v_max - output.v_min) / static_cast<double>(output.logits.size(-1) - 1);
  for (size_t i = first; i < values_.size(); ++i) {
    const float clamped = std::clamp(targets_[i], low, high);
    const float b = (clamped - low) / static_cast<float>(delta);
    const float l = std::floor(b), u = std::ceil(b);
    const auto bin = static_cast<float>(bins[i - first]);
    bin_error_ += delta * std::min(std::abs(bin - l), std::abs(bin - u));
    num_best_ += bin == (u - b >= b - l ? l : u) ? 1 : 0;
    num_neighbor_ += bin == l || bin == u ? 1 : 0;
  }
  loss_ += output.losses.detach().to(at::kCPU, at::kDouble).sum().item<double>();
}

void ValueMetrics::add(const ValueMetrics& other) {
  values_.insert(values_.end(), other.values_.begin(), other.values_.end());
  targets_.insert(targets_.end(), other.targets_.begin(), other.targets_.end());
  loss_ += other.loss_;
  bin_error_ += other.bin_error_;
  num_best_ += other.num_best_;
  num_neighbor_ += other.num_neighbor_;
}

std::vector<double> ValueMetrics::packed() const {
  std::vector<double> numbers = {loss_, bin_error_, num_best_, num_neighbor_};
  numbers.insert(numbers.end(), values_.begin(), values_.end());
  numbers.insert(numbers.end(), targets_.begin(), targets_.end());
  return numbers;
}

ValueMetrics ValueMetrics::unpacked(std::span<const double> numbers) {
  constexpr size_t kSums = 4;
  const size_t count = (numbers.size() - kSums) / 2;
  ValueMetrics metrics;
  metrics.loss_ = numbers[0], metrics.bin_error_ = numbers[1];
  metrics.num_best_ = numbers[2], metrics.num_neighbor_ = numbers[3];
  for (size_t i = 0; i < count; ++i) {
    metrics.values_.push_back(static_cast<float>(numbers[kSums + i]));
    metrics.targets_.push_back(static_cast<float>(numbers[kSums + count + i]));
  }
  return metrics;
}

std::map<std::string, double> ValueMetrics::metrics() const {
  if (values_.empty()) {
    return {};
  }
  const auto n = static_cast<double>(values_.size());
  double error = 0;
  for (size_t i = 0; i < values_.size(); ++i) {
    error += std::abs(double{values_[i]} - targets_[i]);
  }
  const MeanStd predicted = mean_std(values_), target = mean_std(targets_);
  std::map<std::string, double> result = {{"loss", loss_ / n},
                                          {"mae", bin_error_ / n},
                                          {"value_mae", error / n},
                                          {"cat_acc_best", num_best_ / n},
                                          {"cat_acc_neighbor", num_neighbor_ / n},
                                          {"predicted_value_mean", predicted.mean},
                                          {"target_value_mean", target.mean},
                                          {"value_spearman", value_spearman(values_, targets_)}};
  if (values_.size() > 1) {
    result["predicted_value_std"] = predicted.std;
    result["target_value_std"] = target.std;
  }
  if (const auto tied = value_spearman_tied(values_, targets_)) {
    result["value_spearman_tied"] = *tied;
  }
  return result;
}

std::map<std::string, double> mean_batch_metrics(std::span<const ValueMetrics> batches) {
  std::map<std::string, double> sums;
  for (const ValueMetrics& batch : batches) {
    std::map<std::string, double> metrics = batch.metrics();
    if (batch.count() == 1) {
      metrics["predicted_value_std"] = metrics["target_value_std"] = std::numeric_limits<double>::quiet_NaN();
    }
    metrics.erase("value_spearman_tied");  // not defined for every batch
    for (const auto& [name, value] : metrics) {
      sums[name] += value;
    }
  }
  for (auto& [name, value] : sums) {
    value /= static_cast<double>(batches.size());
  }
  return sums;
}

}  // namespace flexor::recap
