#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "curate/picture_scan.h"
#include "curate/stats_source.h"
#include "schema/norm_stats.h"

namespace flexor::curate {

/// How statistics are computed; docs/statistics.md compares them.
enum class StatsMethod {
  kExact,      ///< exact quantiles; pictures sampled
  kLeRobot,    ///< as LeRobot's newest release: one running histogram; pictures sampled
  kLeRobot04,  ///< as LeRobot 0.4: averaged quantiles of the episodes; every picture
};

struct StatsOptions {
  StatsMethod method = StatsMethod::kExact;
  std::optional<PictureSampling> sampling = {};  ///< the method's by default
  bool per_episode = false;                      ///< also of each episode: exact, without quantiles
};

struct DatasetStats {
  schema::NormStats all;                    ///< by recorded names
  std::vector<schema::NormStats> episodes;  ///< by the source's numbers; empty unless asked for
  int64_t num_pictures = 0;                 ///< looked at
};

/// Statistics of some features of a dataset.
/// @param features  numeric ones and cameras of `source`
/// @throws Error(kFile), Error(kData) for what cannot be read, NaN or infinity, naming the place
DatasetStats dataset_stats(const StatsSource& source, const std::vector<const data::FeatureInfo*>& features,
                           ThreadPool& pool, const StatsOptions& options);

}  // namespace flexor::curate
