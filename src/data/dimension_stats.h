#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/norm_stats.h"

namespace flexor::data {

/// The quantiles that statistics hold: name, share of the values below.
inline constexpr std::array<std::pair<std::string_view, double>, 5> kQuantiles = {
    {{"q01", 0.01}, {"q10", 0.10}, {"q50", 0.50}, {"q90", 0.90}, {"q99", 0.99}}};

/// Count, extremes, mean and sum of squared distances from the mean; two of them can be put together (Chan et al.).
struct Moments {
  int64_t count = 0;
  double min = std::numeric_limits<double>::infinity(), max = -std::numeric_limits<double>::infinity();
  double mean = 0, m2 = 0;

  void add(const Moments& other);
  double std() const;  ///< of the population; 0 without values
};

/// Of values[0], values[stride], ...: n > 0 of them. Not finite if one of them is not. @tparam T float, double,
/// int64_t, uint8_t
template <typename T>
Moments moments_of(const T* values, int64_t n, int64_t stride);

/// Statistics of one dimension of a feature.
struct DimensionStats {
  double min = 0, max = 0, mean = 0, std = 0;
  std::array<double, kQuantiles.size()> quantiles{};
};

/// Where the quantile q of n sorted values lies: between numbers `below` and `below` + 1, `fraction` of the way.
struct QuantilePlace {
  int64_t below = 0;
  double fraction = 0;
};
QuantilePlace quantile_place(double q, int64_t n);  ///< n > 0

/// Exact, by selection: quantiles by linear interpolation between order statistics, sums in float64. Not empty.
DimensionStats dimension_stats(std::vector<double> values);

/// The statistics of a feature of shape [dims]: min, max, mean, std, count and the quantiles.
schema::FeatureStats to_feature_stats(const std::vector<DimensionStats>& dims, int64_t count);

}  // namespace flexor::data
