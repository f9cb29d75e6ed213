#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "schema/norm_stats.h"

namespace flexor::data {

/// Several datasets that one policy trains on, each with a sampling weight. Positions are global: the frames of the
/// first dataset, then those of the second, and so on. One dataset is a mixture of one.
class Mixture {
 public:
  struct Part {
    Dataset dataset;
    double weight = 1.0;  ///< share of the samples after division by the sum; not scaled by length
  };
  /// @throws Error(kData) if the parts differ in fps, cameras, or the size of state or action; Error(kConfig) for a
  /// weight
  ///         that is not positive and finite, or an empty list
  explicit Mixture(std::vector<Part> parts);
  explicit Mixture(Dataset dataset);

  const std::vector<Part>& parts() const { return parts_; }
  int64_t num_parts() const { return static_cast<int64_t>(parts_.size()); }
  int64_t num_frames() const { return starts_.back(); }
  int64_t num_episodes() const;
  int64_t first_position(int64_t part) const { return starts_[static_cast<size_t>(part)]; }
  double share(int64_t part) const { return shares_[static_cast<size_t>(part)]; }  ///< weight / sum of weights

  struct Place {
    int64_t part, position;
  };
  Place locate(int64_t position) const;  ///< global position -> dataset and position inside it
  const Dataset& dataset(int64_t part) const { return parts_[static_cast<size_t>(part)].dataset; }

  /// Facts that all parts share.
  double fps() const { return dataset(0).fps(); }
  const std::vector<FeatureInfo>& cameras() const { return dataset(0).cameras(); }
  /// Index into dataset(part).cameras() of the camera with this name (the parts may list them in another order).
  int64_t camera_index(int64_t part, int64_t camera) const { return cameras_[part][camera]; }

  /// Stored statistics: of one part as they are. Of several: the features that all of them store, aggregated with their
  /// frame counts, without quantiles, which cannot be merged (compute_stats gives those of all frames).
  schema::NormStats stats() const;

 private:
  std::vector<Part> parts_;
  std::vector<int64_t> starts_;
  std::vector<double> shares_;
  std::vector<std::vector<int64_t>> cameras_;
};

}  // namespace flexor::data
