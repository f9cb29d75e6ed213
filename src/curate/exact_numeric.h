#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/thread_pool.h"
#include "curate/stats_source.h"
#include "schema/norm_stats.h"

namespace flexor::curate {

struct ExactNumericOptions {
  bool per_episode = false;  ///< also of each episode, without quantiles
  /// Features that together need no more are read once and kept while their quantiles are found; a larger one is read
  /// twice (float32) and only counted.
  int64_t cache_bytes = int64_t{96} << 20;
};

struct ExactNumericStats {
  schema::NormStats all;
  std::vector<schema::NormStats> episodes;  ///< by the source's numbers; empty unless asked for
};

/// Exact statistics of numeric features over all frames, by their recorded names: sums in float64, quantiles by linear
/// interpolation between order statistics. The same for any number of threads and any cache size.
/// @param features  of source.numeric
/// @throws Error(kData) for NaN or infinity, naming feature, file, episode, frame and dimension
ExactNumericStats exact_numeric_stats(const StatsSource& source, const std::vector<const data::FeatureInfo*>& features,
                                      ThreadPool& pool, const ExactNumericOptions& options = {});

}  // namespace flexor::curate
