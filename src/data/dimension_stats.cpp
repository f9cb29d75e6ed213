#include "data/dimension_stats.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace flexor::data {
namespace {

/// Reorders `values`.
double quantile(std::vector<double>& values, double q) {
  const QuantilePlace place = quantile_place(q, static_cast<int64_t>(values.size()));
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(place.below);
  std::nth_element(values.begin(), below, values.end());
  if (place.fraction == 0 || below + 1 == values.end()) {
    return *below;
  }
  return *below + place.fraction * (*std::min_element(below + 1, values.end()) - *below);
}

}  // namespace

void Moments::add(const Moments& other) {
  if (other.count == 0) {
    return;
  }
  const auto n = static_cast<double>(count), m = static_cast<double>(other.count);
  const double shift = other.mean - mean;
  mean += shift * (m / (n + m));
  m2 += other.m2 + shift * shift * (n * m / (n + m));
  count += other.count;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
}

template <typename T>
Moments moments_of(const T* values, int64_t n, int64_t stride) {
  Moments moments;
  T min = values[0], max = values[0];
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T value = values[i * stride];
    min = std::min(min, value);
    max = std::max(max, value);
    sum += static_cast<double>(value);
  }
  moments.count = n;
  moments.min = static_cast<double>(min);
  moments.max = static_cast<double>(max);
  moments.mean = sum / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) {
    const double shift = static_cast<double>(values[i * stride]) - moments.mean;
    moments.m2 += shift * shift;
  }
  return moments;
}
template Moments moments_of(const float*, int64_t, int64_t);
template Moments moments_of(const double*, int64_t, int64_t);
template Moments moments_of(const int64_t*, int64_t, int64_t);
template Moments moments_of(const uint8_t*, int64_t, int64_t);

double Moments::std() const {
  return count == 0 ? 0.0 : std::sqrt(m2 / static_cast<double>(count));
}

QuantilePlace quantile_place(double q, int64_t n) {
  const double place = q * static_cast<double>(n - 1);
  const double below = std::floor(place);
  return {static_cast<int64_t>(below), place - below};
}

DimensionStats dimension_stats(std::vector<double> values) {
  DimensionStats stats;
  const auto count = static_cast<double>(values.size());
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  stats.min = *min;
  stats.max = *max;
  for (const double value : values) {
    stats.mean += value;
  }
  stats.mean /= count;
  double squares = 0;
  for (const double value : values) {
    squares += (value - stats.mean) * (value - stats.mean);
  }
  stats.std = std::sqrt(squares / count);
  for (size_t i = 0; i < kQuantiles.size(); ++i) {
    stats.quantiles[i] = quantile(values, kQuantiles[i].second);
  }
  return stats;
}

schema::FeatureStats to_feature_stats(const std::vector<DimensionStats>& dims, int64_t count) {
  schema::FeatureStats stats;
  stats.shape = {static_cast<int64_t>(dims.size())};
  stats.values["count"] = {static_cast<double>(count)};
  for (const DimensionStats& dim : dims) {
    stats.values["min"].push_back(dim.min);
    stats.values["max"].push_back(dim.max);
    stats.values["mean"].push_back(dim.mean);
    stats.values["std"].push_back(dim.std);
    for (size_t i = 0; i < kQuantiles.size(); ++i) {
      stats.values[std::string(kQuantiles[i].first)].push_back(dim.quantiles[i]);
    }
  }
  return stats;
}

}  // namespace flexor::data
