#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "recap/returns.h"

namespace flexor::recap {

struct AdvantageRules {
  double gamma = 1.0;
  int64_t lookahead = 10;           ///< N
  bool discount_next_value = true;  ///< multiply V_next by gamma^k
  ReturnRange range = {};
};

/// (x - min) / (max - min) - 1; -0.5 for an empty range.
double affine_return(double x, const ReturnRange& range);

/// Frames of one dataset, an episode's rows following each other in the order of time.
struct FrameColumns {
  std::vector<int64_t> episode_index, frame_index;
  std::vector<float> returns, rewards;

  int64_t size() const { return static_cast<int64_t>(episode_index.size()); }
};

/// Columns of meta/advantages[_TAG].parquet but for dataset_name.
struct AdvantageRows {
  std::vector<int64_t> episode_index, frame_index;
  std::vector<double> advantage_continuous, returns, value_current, value_next, reward_sum, reward_sum_raw;
  std::vector<int64_t> num_valid_rewards;
  std::vector<uint8_t> advantage;

  size_t size() const { return episode_index.size(); }
};

/// N-step advantages (RLinf's compute_advantages), end = one past the last row of the episode of row i:
///   k = min(N, end - i);  boundary = i + N >= end;  V_next = boundary ? 0 : V_{i+N}
///   R = gamma == 1 (within 1e-8) ? (boundary ? G_i : G_i - G_{i+N}) : sum_{j<k} gamma^j r_{i+j}, in float64
///   A = affine(R) + d V_next - V_i,  d = discount_next_value ? gamma^k : 1
/// Labels are left empty.
/// @param values    V of the first rows: min(num_rows + N, frames.size()) at least
/// @param num_rows  rows wanted, from the first
AdvantageRows n_step_advantages(const FrameColumns& frames, std::span<const double> values, int64_t num_rows,
                                const AdvantageRules& rules);

/// Runs of rows with the same episode_index, refused when a frame does not follow its predecessor.
/// @throws Error(kData) naming episode and frame
void check_frame_order(const FrameColumns& frames, const std::string& where);

/// Writes the sidecar: episode_index, frame_index int64; advantage_continuous, return, value_current, value_next,
/// reward_sum, reward_sum_raw double; num_valid_rewards int64; dataset_name string; advantage bool.
void write_advantages(const std::string& path, const AdvantageRows& rows, const std::string& dataset_name,
                      const Json& made_by);

/// A copy of a sidecar of any producer with other labels; all other columns stay.
void write_labels(const std::string& source, const std::string& path, const std::vector<uint8_t>& labels,
                  const Json& made_by);

struct AdvantageFile {
  std::string path, dataset_name;
  AdvantageRows rows;
  std::optional<Json> made_by;
};
/// All columns of a sidecar of RECAP. Columns of values may be missing (a sidecar of STEAM): then they are empty.
/// @throws Error(kFile), Error(kData): unknown tag, a score that is not finite
AdvantageFile read_advantages(const std::string& root, std::string_view tag);

}  // namespace flexor::recap
