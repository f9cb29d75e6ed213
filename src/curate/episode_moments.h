#pragma once
#include <cstddef>
#include <vector>

#include "curate/numeric_scan.h"
#include "data/dimension_stats.h"

namespace flexor::curate {

/// Moments of each dimension of one feature, episode by episode. Parts of an episode that different threads saw are put
/// together in the order of the rows, so that the result does not depend on the threads.
class EpisodeMoments {
 public:
  /// Moments of a piece's rows. @throws Error(kData) for NaN or infinity, naming place and dimension
  static std::vector<data::Moments> of(const StatsSource& source, const data::FeatureInfo& feature,
                                       const ScanPiece& piece);

  EpisodeMoments(size_t num_episodes, int64_t width);
  void add(size_t episode, const std::vector<data::Moments>& part);  ///< in the order of the rows

  const std::vector<data::Moments>& episode(size_t number) const { return episodes_[number]; }
  std::vector<data::Moments> all() const;

 private:
  std::vector<std::vector<data::Moments>> episodes_;
};

}  // namespace flexor::curate
