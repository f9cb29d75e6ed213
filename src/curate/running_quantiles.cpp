#include "curate/running_quantiles.h"

#include <algorithm>
#include <string>

namespace flexor::curate {
namespace {

/// numpy.linspace(low, high, bins + 1) of scalars of this type.
template <typename Edge>
void linspace(Edge low, Edge high, size_t bins, std::vector<Edge>& edges) {
  edges.resize(bins + 1);
  const Edge delta = high - low, step = delta / static_cast<Edge>(bins);
  for (size_t i = 0; i <= bins; ++i) {
    const auto number = static_cast<Edge>(i);
    edges[i] = (step == 0 ? number / static_cast<Edge>(bins) * delta : number * step) + low;
  }
  edges[bins] = high;
}

}  // namespace

template <typename Edge>
RunningQuantiles<Edge>::RunningQuantiles(int64_t width, RebinRule rule)
    : rule_(rule), dims_(static_cast<size_t>(width)) {}

template <typename Edge>
void RunningQuantiles<Edge>::set_edges(Dim& dim, Edge low, Edge high) const {
  linspace(low, high, kBins, dim.edges);
}

template <typename Edge>
void RunningQuantiles<Edge>::grow(const std::vector<data::Moments>& batch) {
  const bool is_first = dims_[0].moments.count == 0;
  bool has_grown = false;
  for (size_t d = 0; d < dims_.size(); ++d) {
    data::Moments& moments = dims_[d].moments;
    has_grown = has_grown || batch[d].min < moments.min || batch[d].max > moments.max;
    moments.add(batch[d]);
  }
  for (Dim& dim : dims_) {
    const auto min = static_cast<Edge>(dim.moments.min), max = static_cast<Edge>(dim.moments.max);
    if (is_first) {
      constexpr auto kPadding = static_cast<Edge>(1e-10);
      set_edges(dim, min - kPadding, max + kPadding);
      dim.counts.assign(kBins, 0);
    } else if (has_grown) {
      rebin(dim);
    }
  }
}

template <typename Edge>
void RunningQuantiles<Edge>::rebin(Dim& dim) const {
  const auto min = static_cast<Edge>(dim.moments.min), max = static_cast<Edge>(dim.moments.max);
  const std::vector<Edge> old_edges = std::move(dim.edges);
  const std::vector<double> old_counts = std::move(dim.counts);
  dim.edges = {};
  dim.counts.assign(kBins, 0);
  if (rule_ == RebinRule::kOpenpi) {
    set_edges(dim, min, max);
    for (size_t i = 0; i < kBins; ++i) {
      if (old_counts[i] > 0) {
        count(dim, old_edges[i], old_counts[i]);
      }
    }
    return;
  }
  const Edge padding = (max - min) * static_cast<Edge>(1e-10);
  set_edges(dim, min - padding, max + padding);
  for (size_t i = 0; i < kBins; ++i) {
    if (old_counts[i] > 0) {
      const Edge centre = (old_edges[i] + old_edges[i + 1]) / 2;
      const auto edge = std::ranges::lower_bound(dim.edges, centre) - dim.edges.begin();
      dim.counts[static_cast<size_t>(std::clamp<std::ptrdiff_t>(edge - 1, 0, kBins - 1))] += old_counts[i];
    }
  }
}

/// As numpy.histogram with given edges: bin i is [edge i, edge i + 1), the last one closed; nothing outside.
template <typename Edge>
void RunningQuantiles<Edge>::count(Dim& dim, Edge value, double weight) {
  const std::vector<Edge>& edges = dim.edges;
  if (!(value >= edges.front() && value <= edges.back())) {
    return;
  }
  if (value == edges.back()) {
    dim.counts.back() += weight;
    return;
  }
  const double guess =
      (static_cast<double>(value) - edges.front()) * kBins / (static_cast<double>(edges.back()) - edges.front());
  auto bin = static_cast<size_t>(std::clamp(guess, 0.0, static_cast<double>(kBins - 1)));
  while (edges[bin] > value) {
    --bin;
  }
  while (edges[bin + 1] <= value) {
    ++bin;
  }
  dim.counts[bin] += weight;
}

template <typename Edge>
void RunningQuantiles<Edge>::update(std::span<const Edge> rows) {
  std::vector<data::Moments> batch;
  const auto width = static_cast<int64_t>(dims_.size()), n = static_cast<int64_t>(rows.size()) / width;
  for (int64_t d = 0; d < width; ++d) {
    batch.push_back(data::moments_of(rows.data() + d, n, width));
  }
  grow(batch);
  for (size_t d = 0; d < dims_.size(); ++d) {
    for (size_t i = d; i < rows.size(); i += dims_.size()) {
      count(dims_[d], rows[i], 1);
    }
  }
}

template <typename Edge>
void RunningQuantiles<Edge>::update(const std::vector<Levels>& dims) {
  std::vector<data::Moments> batch;
  for (const Levels& levels : dims) {
    data::Moments moments;
    for (size_t i = 0; i < levels.values.size(); ++i) {
      if (levels.counts[i] > 0) {
        const double value = levels.values[i];
        moments.add({static_cast<int64_t>(levels.counts[i]), value, value, value, 0});
      }
    }
    batch.push_back(moments);
  }
  grow(batch);
  for (size_t d = 0; d < dims_.size(); ++d) {
    for (size_t i = 0; i < dims[d].values.size(); ++i) {
      if (dims[d].counts[i] > 0) {
        count(dims_[d], dims[d].values[i], static_cast<double>(dims[d].counts[i]));
      }
    }
  }
}

template <typename Edge>
double RunningQuantiles<Edge>::lerobot_quantile(const Dim& dim, double q) const {
  const double target = q * static_cast<double>(dim.moments.count);
  double before = 0;
  size_t bin = 0;
  while (bin < kBins && before + dim.counts[bin] < target) {
    before += dim.counts[bin++];
  }
  if (bin == 0) {
    return dim.edges.front();
  }
  if (bin == kBins) {
    return dim.edges.back();
  }
  const Edge size = dim.edges[bin + 1] - dim.edges[bin];
  return dim.edges[bin] + (target - before) / dim.counts[bin] * size;  // not empty: it reaches the target
}

template <typename Edge>
double RunningQuantiles<Edge>::openpi_quantile(const Dim& dim, double q) const {
  const double target = q * static_cast<double>(dim.moments.count);
  double sum = 0;
  size_t bin = 0;
  while (bin < kBins && sum + dim.counts[bin] < target) {
    sum += dim.counts[bin++];
  }
  return dim.edges[bin];
}

template <typename Edge>
double RunningQuantiles<Edge>::quantile(int64_t dim, double q) const {
  const Dim& of = dims_[static_cast<size_t>(dim)];
  if (of.moments.count < 2) {
    return of.moments.mean;
  }
  return rule_ == RebinRule::kOpenpi ? openpi_quantile(of, q) : lerobot_quantile(of, q);
}

template <typename Edge>
schema::FeatureStats RunningQuantiles<Edge>::stats() const {
  std::vector<data::DimensionStats> result;
  for (size_t d = 0; d < dims_.size(); ++d) {
    const data::Moments& moments = dims_[d].moments;
    data::DimensionStats stats{moments.min, moments.max, moments.mean, moments.std(), {}};
    for (size_t i = 0; i < data::kQuantiles.size(); ++i) {
      stats.quantiles[i] = quantile(static_cast<int64_t>(d), data::kQuantiles[i].second);
    }
    result.push_back(stats);
  }
  return data::to_feature_stats(result, count());
}

template class RunningQuantiles<float>;
template class RunningQuantiles<double>;

}  // namespace flexor::curate
