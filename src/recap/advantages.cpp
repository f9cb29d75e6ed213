#include "recap/advantages.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/str_cat.h"

namespace flexor::recap {
namespace {

/// For every row one past the last row of its episode.
std::vector<int64_t> episode_ends(const std::vector<int64_t>& episode_index) {
  std::vector<int64_t> ends(episode_index.size());
  for (const RowRun& run : row_runs(episode_index)) {
    std::fill(ends.begin() + run.first, ends.begin() + run.end, run.end);
  }
  return ends;
}

}  // namespace

double affine_return(double x, const ReturnRange& range) {
  const double width = range.max - range.min;
  return width <= 0 ? -0.5 : (x - range.min) / width - 1.0;
}

AdvantageRows n_step_advantages(const FrameColumns& frames, std::span<const double> values, int64_t num_rows,
                                const AdvantageRules& rules) {
  constexpr double kUndiscounted = 1e-8;
  const bool undiscounted = std::abs(rules.gamma - 1.0) < kUndiscounted;
  const std::vector<int64_t> ends = episode_ends(frames.episode_index);
  const int64_t horizon = std::min(rules.lookahead, frames.size());
  std::vector<double> powers = {1.0};
  for (int64_t j = 0; j < horizon; ++j) {
    powers.push_back(std::pow(rules.gamma, static_cast<double>(j + 1)));
  }
  AdvantageRows rows;
  for (int64_t i = 0; i < num_rows; ++i) {
    const auto row = static_cast<size_t>(i);
    const int64_t end = ends[row], k = std::min(horizon, end - i), next = i + rules.lookahead;
    const bool boundary = next >= end;
    double raw = 0;
    if (undiscounted) {
      const double later = boundary ? 0.0 : double{frames.returns[static_cast<size_t>(next)]};
      raw = double{frames.returns[row]} - later;
    } else {
      for (int64_t j = 0; j < k; ++j) {
        raw += powers[static_cast<size_t>(j)] * double{frames.rewards[static_cast<size_t>(i + j)]};
      }
    }
    const double value_next = boundary ? 0.0 : values[static_cast<size_t>(next)];
    const double discount = rules.discount_next_value ? powers[static_cast<size_t>(k)] : 1.0;
    const double reward_sum = affine_return(raw, rules.range);
    rows.episode_index.push_back(frames.episode_index[row]);
    rows.frame_index.push_back(frames.frame_index[row]);
    rows.advantage_continuous.push_back(reward_sum + discount * value_next - values[row]);
    rows.returns.push_back(frames.returns[row]);
    rows.value_current.push_back(values[row]);
    rows.value_next.push_back(value_next);
    rows.reward_sum.push_back(reward_sum);
    rows.reward_sum_raw.push_back(raw);
    rows.num_valid_rewards.push_back(k);
  }
  return rows;
}

void check_frame_order(const FrameColumns& frames, const std::string& where) {
  for (const RowRun& run : row_runs(frames.episode_index)) {
    for (int64_t i = run.first + 1; i < run.end; ++i) {
      const int64_t before = frames.frame_index[static_cast<size_t>(i - 1)];
      if (const int64_t frame = frames.frame_index[static_cast<size_t>(i)]; frame != before + 1) {
        throw Error(ErrorKind::kData, str_cat("frame ", frame, " follows frame ", before),
                    str_cat(where, ", episode ", run.episode_index),
                    "the look-ahead counts frames, so an episode may have no gaps");
      }
    }
  }
}

}  // namespace flexor::recap
