#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/json.h"

namespace flexor::recap {

/// Rewards and discounted returns of one episode (RECAP, pi*0.6, arXiv:2511.14759, as RLinf's compute_returns):
///   r_t = -1 for t < T-1;  r_{T-1} = 0 for a success, `failure_reward` otherwise
///   G_{T-1} = r_{T-1};     G_t = r_t + gamma * G_{t+1}, each step in float32
/// @param returns, rewards  [T] each, T >= 1, in steps
void episode_returns(bool success, double gamma, double failure_reward, std::span<float> returns,
                     std::span<float> rewards);

/// Rows of one episode that follow each other.
struct RowRun {
  int64_t episode_index, first, end;
  friend bool operator==(const RowRun&, const RowRun&) = default;
};
/// Neighbouring rows with the same episode_index.
std::vector<RowRun> row_runs(std::span<const int64_t> episode_index);

/// Mean, population standard deviation, smallest and largest value, added up piece by piece.
class ScalarStats {
 public:
  void add(std::span<const float> values);
  int64_t count() const { return count_; }
  double min() const { return min_; }
  double max() const { return max_; }
  /// {mean, std, min, max}; the mean is rounded to float32 as the reference's is.
  Json to_json() const;

 private:
  int64_t count_ = 0;
  double mean_ = 0, squares_ = 0, min_ = 0, max_ = 0;  // squares: sum of squared distances from the mean
};

/// Smallest and largest return of the data, which normalise.
struct ReturnRange {
  double min = 0, max = 0;
  friend bool operator==(const ReturnRange&, const ReturnRange&) = default;
};

/// Targets of the value model: G / |min| (min = 0: unchanged), or (G - min) / (max - min) (equal: 0).
double normalized_return(double value, const ReturnRange& range, bool to_minus_one_zero);

}  // namespace flexor::recap
