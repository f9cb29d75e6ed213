#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "data/dimension_stats.h"
#include "schema/norm_stats.h"

namespace flexor::curate {

/// What happens to the counts when the range of the values grows.
enum class RebinRule {
  kLeRobot,  ///< wider edges get a padding; a count moves to the new bin of its old bin's centre
  kOpenpi,   ///< no padding; a count moves to the new bin of its old bin's left edge, and is lost outside
};

/// The running histogram from which LeRobot (datasets/compute_stats.py RunningQuantileStats) and openpi
/// (shared/normalize.py RunningStats) estimate quantiles: 5000 bins a dimension between the extremes seen so far. The
/// result depends on how the rows are cut into batches, as theirs does.
/// Edge is the type that the reference's arrays have: bin edges are computed and compared in it. Mean and std are ours,
/// in float64; theirs are summed in float32 and drift.
template <typename Edge>
class RunningQuantiles {
 public:
  RunningQuantiles(int64_t width, RebinRule rule);

  /// @param rows  [n, width], row-major; n > 0, finite
  void update(std::span<const Edge> rows);

  /// A batch of one dimension that holds values[i] counts[i] times; for pictures, whose values are 256 levels.
  struct Levels {
    std::vector<Edge> values;  ///< ascending
    std::vector<uint64_t> counts;
  };
  void update(const std::vector<Levels>& dims);

  int64_t count() const { return dims_[0].moments.count; }
  double mean(int64_t dim) const { return dims_[static_cast<size_t>(dim)].moments.mean; }
  double std(int64_t dim) const { return dims_[static_cast<size_t>(dim)].moments.std(); }
  /// With fewer than two rows the mean.
  double quantile(int64_t dim, double q) const;

  /// All of them, shape [width]. `count` is count().
  schema::FeatureStats stats() const;

 private:
  static constexpr size_t kBins = 5000;
  struct Dim {
    data::Moments moments;
    std::vector<Edge> edges;     ///< [kBins + 1]
    std::vector<double> counts;  ///< [kBins]
  };

  /// @param batch  of each dimension
  void grow(const std::vector<data::Moments>& batch);
  void set_edges(Dim& dim, Edge low, Edge high) const;
  void rebin(Dim& dim) const;
  static void count(Dim& dim, Edge value, double weight);
  double lerobot_quantile(const Dim& dim, double q) const;
  double openpi_quantile(const Dim& dim, double q) const;

  RebinRule rule_;
  std::vector<Dim> dims_;
};

extern template class RunningQuantiles<float>;
extern template class RunningQuantiles<double>;

}  // namespace flexor::curate
