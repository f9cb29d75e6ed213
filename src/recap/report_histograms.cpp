#include "recap/report_histograms.h"

#include <algorithm>
#include <cmath>

namespace flexor::recap {
namespace {

struct HistogramBins {
  double low = 0, high = 0;
  size_t count = 1;

  double edge(size_t i) const {
    return i == count ? high : low + (high - low) * static_cast<double>(i) / static_cast<double>(count);
  }
  size_t of(double value) const {
    const double place = high > low ? (value - low) / (high - low) * static_cast<double>(count) : 0.0;
    return std::min(count - 1, static_cast<size_t>(std::max(0.0, place)));
  }
};

/// The smallest and the largest of all values of a column, and one bin for values that are all equal.
template <typename T>
std::optional<HistogramBins> bins_of(const JudgedRun& run, std::vector<T> JudgedDataset::* column, size_t count) {
  std::optional<HistogramBins> bins;
  for (const JudgedDataset& dataset : run.datasets) {
    for (const T value : dataset.*column) {
      bins = bins ? HistogramBins{std::min<double>(bins->low, value), std::max<double>(bins->high, value), count}
                  : HistogramBins{value, value, count};
    }
  }
  if (bins && bins->low == bins->high) {
    constexpr double kHalf = 0.5;
    bins = HistogramBins{bins->low - kHalf, bins->high + kHalf, 1};
  }
  return bins;
}

template <typename T>
KindHistogram histogram(const JudgedRun& run, std::vector<T> JudgedDataset::* column, const HistogramBins& bins) {
  KindHistogram result;
  for (size_t i = 0; i <= bins.count; ++i) {
    result.edges.push_back(bins.edge(i));
  }
  for (auto& counts : result.counts) {
    counts.assign(bins.count, 0);
  }
  for (const JudgedDataset& dataset : run.datasets) {
    const std::vector<T>& values = dataset.*column;
    for (const JudgedEpisode& episode : dataset.episodes) {
      auto& counts = result.counts[static_cast<size_t>(episode.kind)];
      for (size_t row = episode.first; row < episode.end && !values.empty(); ++row) {
        ++counts[bins.of(values[row])];
      }
    }
  }
  return result;
}

/// Bins that hold equally many whole numbers each, if the returns are whole (gamma 1): others would make combs of them.
HistogramBins of_returns(const JudgedRun& run, const HistogramBins& bins) {
  for (const JudgedDataset& dataset : run.datasets) {
    const auto& returns = dataset.returns;
    if (std::any_of(returns.begin(), returns.end(), [](float value) { return value != std::floor(value); })) {
      return bins;
    }
  }
  constexpr double kHalf = 0.5, kBins = kHistogramBins;
  const double low = bins.count == 1 ? bins.low + kHalf : bins.low, high = bins.count == 1 ? low : bins.high;
  const double width = std::max(1.0, std::ceil((high - low + 1) / kBins));
  const auto count = static_cast<size_t>(std::ceil((high - low + 1) / width));
  return {low - kHalf, low - kHalf + width * static_cast<double>(count), count};
}

/// Few extreme scores would leave the others in one bin.
HistogramBins around_the_middle(const JudgedRun& run, HistogramBins bins) {
  constexpr size_t kMany = 2000;
  constexpr double kTail = 0.005;
  std::vector<double> scores;
  for (const JudgedDataset& dataset : run.datasets) {
    scores.insert(scores.end(), dataset.scores.begin(), dataset.scores.end());
  }
  if (scores.size() < kMany) {
    return bins;
  }
  const auto quantile = [&scores](double share) {
    const auto place = scores.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(scores.size() - 1));
    std::nth_element(scores.begin(), place, scores.end());
    return *place;
  };
  double low = quantile(kTail), high = quantile(1 - kTail);
  for (const JudgedDataset& dataset : run.datasets) {
    if (dataset.threshold) {
      low = std::min(low, std::max(*dataset.threshold, bins.low));
      high = std::max(high, std::min(*dataset.threshold, bins.high));
    }
  }
  return low < high ? HistogramBins{low, high, bins.count} : bins;
}

}  // namespace

void add_histograms(const JudgedRun& run, ReportNumbers& numbers) {
  if (const auto bins = bins_of(run, &JudgedDataset::returns, kHistogramBins)) {
    numbers.returns = histogram(run, &JudgedDataset::returns, of_returns(run, *bins));
  }
  if (const auto bins = bins_of(run, &JudgedDataset::values, kHistogramBins)) {
    numbers.values = histogram(run, &JudgedDataset::values, *bins);
  }
  if (const auto bins = bins_of(run, &JudgedDataset::scores, kHistogramBins)) {
    const HistogramBins middle = around_the_middle(run, *bins);
    numbers.scores = histogram(run, &JudgedDataset::scores, middle);
    numbers.scores.is_cut = bins->low < middle.low || middle.high < bins->high;
  }
}

void add_calibration(const JudgedRun& run, ReportNumbers& numbers) {
  auto bins = bins_of(run, &JudgedDataset::values, kCalibrationBins);
  if (!bins || !run.has_returns()) {
    return;
  }
  const double low = run.to_minus_one_zero ? -1.0 : 0.0;
  bins = HistogramBins{std::min(bins->low, low), std::max(bins->high, low + 1.0), kCalibrationBins};
  struct Sums {
    double value = 0, target = 0, square = 0;
    int64_t count = 0;
  };
  std::vector<Sums> sums(kCalibrationBins);
  int64_t total = 0;
  for (const JudgedDataset& dataset : run.datasets) {
    for (size_t row = 0; row < dataset.size() && !dataset.values.empty() && !dataset.returns.empty(); ++row) {
      const double target = run.target(dataset.returns[row]);
      Sums& sum = sums[bins->of(dataset.values[row])];
      sum.value += dataset.values[row];
      sum.target += target;
      sum.square += target * target;
      ++sum.count;
      ++total;
    }
  }
  double error = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].count > 0) {
      const auto n = static_cast<double>(sums[i].count);
      const double value = sums[i].value / n, target = sums[i].target / n;
      const double variance = std::max(0.0, sums[i].square / n - target * target);
      numbers.calibration.push_back(
          {bins->edge(i), bins->edge(i + 1), sums[i].count, value, target, std::sqrt(variance)});
      error += n * std::abs(value - target);
    }
  }
  if (total > 0) {
    numbers.calibration_error = error / static_cast<double>(total);
  }
}

}  // namespace flexor::recap
