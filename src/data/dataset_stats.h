#pragma once
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/dataset_info.h"
#include "data/dimension_stats.h"
#include "data/finding.h"
#include "schema/norm_stats.h"

namespace flexor::data {

/// Statistics as the dataset stores them, under the recorded names: meta/stats.json (v2.0, v3.0) or the aggregate of
/// meta/episodes_stats.jsonl (v2.1), whose entries a meta/stats.json of the same frames replaces. Empty, with a
/// finding, when the file is missing.
/// @throws Error(kData) for a file that cannot be read
schema::NormStats read_stored_stats(const DatasetInfo& info, std::vector<Finding>& findings);

/// What becomes of the quantiles of several sets of frames, which cannot be merged exactly.
enum class QuantileMerge {
  kBounds,        ///< up to q50 the smallest, above the largest: bounds, as LeRobot's newest release does
  kWeightedMean,  ///< the mean weighted by `count`, as LeRobot 0.4 to 0.6 do; a quantile of nothing
};

/// Statistics of the union of several sets of frames, weighted by `count`:
///   mean = sum c_i m_i / sum c_i,  var = sum c_i (s_i^2 + (m_i - mean)^2) / sum c_i,  min of mins, max of maxes.
/// Only those quantiles that every part has. A feature is aggregated over the parts that have it.
/// @throws Error(kData) when a part lacks `count`, or the sizes of a feature differ
schema::NormStats aggregate_stats(const std::vector<schema::NormStats>& parts,
                                  QuantileMerge quantiles = QuantileMerge::kBounds);

/// Exact statistics of numeric columns in memory over the dataset's selected frames: min, max, mean, std (of the
/// population), count, and q01, q10, q50, q90, q99 by linear interpolation between order statistics; sums in float64.
/// The same for any number of threads.
/// @throws Error(kData) for NaN or infinity, naming feature, episode, frame and dimension
schema::NormStats compute_stats(const Dataset& dataset, const std::vector<std::string>& columns);
/// The same over several datasets taken together, frame by frame.
schema::NormStats compute_stats(const std::vector<Dataset>& datasets, const std::vector<std::string>& columns);

/// The same for action[i + t] - state[i], t = 0..horizon-1: what a policy with relative actions learns. Over chunks
/// that lie whole inside an episode (an episode shorter than the horizon gives the steps it has), taken at an even
/// stride so that at most kMaxRelativeChunks are read. `count` is the number of action rows.
/// @param mask  which action dims are relative; the others are taken as they are
/// @throws Error(kData) for values that are not finite, or when the state lacks a relative dim
inline constexpr int64_t kMaxRelativeChunks = 20000;
schema::FeatureStats compute_relative_action_stats(const std::vector<Dataset>& datasets, int64_t horizon,
                                                   const std::vector<bool>& mask);

}  // namespace flexor::data
