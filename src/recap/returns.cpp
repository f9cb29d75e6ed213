#include "recap/returns.h"

#include <algorithm>
#include <cmath>

namespace flexor::recap {

void episode_returns(bool success, double gamma, double failure_reward, std::span<float> returns,
                     std::span<float> rewards) {
  std::fill(rewards.begin(), rewards.end(), -1.0F);
  rewards.back() = success ? 0.0F : static_cast<float>(failure_reward);
  const auto discount = static_cast<float>(gamma);
  float next = rewards.back();
  returns.back() = next;
  for (size_t t = returns.size() - 1; t-- > 0;) {
    const float discounted = discount * next;  // rounded by itself: no fused multiply-add
    next = rewards[t] + discounted;
    returns[t] = next;
  }
}

std::vector<RowRun> row_runs(std::span<const int64_t> episode_index) {
  std::vector<RowRun> runs;
  for (size_t row = 0; row < episode_index.size(); ++row) {
    if (runs.empty() || runs.back().episode_index != episode_index[row]) {
      runs.push_back({episode_index[row], static_cast<int64_t>(row), static_cast<int64_t>(row)});
    }
    ++runs.back().end;
  }
  return runs;
}

void ScalarStats::add(std::span<const float> values) {
  if (values.empty()) {
    return;
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  min_ = count_ == 0 ? *low : std::min<double>(min_, *low);
  max_ = count_ == 0 ? *high : std::max<double>(max_, *high);
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const float value : values) {
    mean += value;
  }
  mean /= n;
  for (const float value : values) {
    squares += (value - mean) * (value - mean);
  }
  const double shift = mean - mean_, before = static_cast<double>(count_), total = before + n;
  squares_ += squares + shift * shift * before * n / total;
  mean_ += shift * n / total;
  count_ += static_cast<int64_t>(values.size());
}

Json ScalarStats::to_json() const {
  const double std = count_ == 0 ? 0.0 : std::sqrt(squares_ / static_cast<double>(count_));
  return Json::object(
      {{"mean", static_cast<double>(static_cast<float>(mean_))}, {"std", std}, {"min", min_}, {"max", max_}});
}

double normalized_return(double value, const ReturnRange& range, bool to_minus_one_zero) {
  if (to_minus_one_zero) {
    return range.min == 0 ? value : value / std::abs(range.min);
  }
  return range.max == range.min ? 0.0 : (value - range.min) / (range.max - range.min);
}

}  // namespace flexor::recap
