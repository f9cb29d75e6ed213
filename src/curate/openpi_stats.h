#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "curate/stats_source.h"
#include "schema/norm_stats.h"

namespace flexor::curate {

/// Statistics of states and of windows of actions, for openpi's norm_stats.json.
struct OpenpiStatsOptions {
  int64_t horizon = 50;     ///< actions of a window; beyond the episode's end the last one repeats; 0: each frame once
  int64_t batch_size = 32;  ///< frames (windows) of a batch
  std::vector<bool> delta_mask = {};  ///< which action dims become action - state of the window's first frame
  /// openpi's running histogram over whole batches in float32 arithmetic of its edges; the last, incomplete batch is
  /// dropped. Without it: exact quantiles over all frames, batch_size does not matter.
  bool as_openpi = true;
};

/// openpi's make_bool_mask: {6, -1} is six times true, once false.
std::vector<bool> delta_mask_from(const std::vector<int64_t>& dims);

/// Keys "state" and "actions" with mean, std, q01, q99 (and min, max, count).
/// @throws Error(kData) when the dataset has no observation.state or action, fewer frames than a batch, fewer dims than
///         the mask; NaN or infinity, naming the place
schema::NormStats openpi_stats(const StatsSource& source, const OpenpiStatsOptions& options);

/// The text of norm_stats.json: {"norm_stats": {"state": {"mean": ...}, "actions": ...}}, of "state" and "actions" only
/// mean, std, q01, q99.
std::string norm_stats_text(const schema::NormStats& stats);

}  // namespace flexor::curate
