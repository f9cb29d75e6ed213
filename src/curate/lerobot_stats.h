#pragma once
#include <vector>

#include "base/thread_pool.h"
#include "curate/picture_histogram.h"
#include "curate/running_quantiles.h"
#include "curate/stats_source.h"
#include "schema/norm_stats.h"

namespace flexor::curate {

/// Whose statistics: what `augment_dataset_quantile_stats` of a LeRobot release computes.
enum class LeRobotVersion {
  k04,      ///< 0.4 to 0.6: one histogram an episode, then the weighted mean of the episodes' quantiles
  kNewest,  ///< one running histogram over the whole dataset, an episode a batch
};

/// Statistics of numeric features by LeRobot's method, by their recorded names. Quantiles equal LeRobot's; mean and std
/// are summed in float64, where LeRobot's float32 sums drift.
/// @throws Error(kData) for NaN or infinity, naming feature, file, episode, frame and dimension
schema::NormStats lerobot_numeric_stats(const StatsSource& source,
                                        const std::vector<const data::FeatureInfo*>& features, LeRobotVersion version,
                                        ThreadPool& pool);

/// The same for one camera, whose pictures are shown episode by episode, in order.
class LeRobotPictureStats {
 public:
  explicit LeRobotPictureStats(LeRobotVersion version);
  void add(const PictureHistogram& episode);
  /// Shape [3, 1, 1]; `count` is the number of pictures. @throws Error(kData) without pictures
  schema::FeatureStats stats() const;

 private:
  LeRobotVersion version_;
  RunningQuantiles<float> running_;
  std::vector<schema::NormStats> episodes_;
  int64_t num_pictures_ = 0;
};

}  // namespace flexor::curate
