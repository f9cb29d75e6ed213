#include <algorithm>
#include <cmath>

#include "recap/report_histograms.h"
#include "recap/value_metrics.h"

namespace flexor::recap {
namespace {

/// Share of pairs (a, b) with a > b, ties half, by ranks. Null if one side is empty.
std::optional<double> larger_share(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) {
    return std::nullopt;
  }
  std::vector<double> sorted = b;
  std::sort(sorted.begin(), sorted.end());
  double sum = 0;
  for (const double value : a) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    sum += static_cast<double>(first - sorted.begin()) + static_cast<double>(last - first) / 2;
  }
  return sum / static_cast<double>(a.size()) / static_cast<double>(b.size());
}

/// Population standard deviation, added up value by value (Welford).
class Spread {
 public:
  void add(double value) {
    const double off = value - mean_;
    mean_ += off / ++count_;
    squares_ += off * (value - mean_);
  }
  double std() const { return std::sqrt(squares_ / count_); }

 private:
  double count_ = 0, mean_ = 0, squares_ = 0;
};

}  // namespace

void add_separation(const JudgedRun& run, ReportNumbers& numbers) {
  std::array<std::vector<double>, kNumEpisodeKinds> judged;
  for (const EpisodeNumbers& episode : numbers.episodes) {
    const double mean = run.has_values() ? episode.value_mean : episode.score_mean;
    const EpisodeKind kind = run.datasets[episode.dataset].episodes[episode.place].kind;
    if (std::isfinite(mean)) {
      judged[static_cast<size_t>(kind)].push_back(mean);
    }
  }
  const auto& attempts = judged[static_cast<size_t>(EpisodeKind::kSuccess)];
  numbers.separation =
      larger_share(attempts.empty() ? judged[static_cast<size_t>(EpisodeKind::kDemonstration)] : attempts,
                   judged[static_cast<size_t>(EpisodeKind::kFailure)]);
}

void add_agreement(const JudgedRun& run, ReportNumbers& numbers) {
  std::vector<float> values, returns;
  double error = 0;
  Spread of_values, of_targets;
  for (const JudgedDataset& dataset : run.datasets) {
    if (dataset.values.empty() || dataset.returns.empty()) {
      continue;
    }
    values.insert(values.end(), dataset.values.begin(), dataset.values.end());
    returns.insert(returns.end(), dataset.returns.begin(), dataset.returns.end());
    for (size_t row = 0; row < dataset.size(); ++row) {
      const double value = dataset.values[row], target = run.target(dataset.returns[row]);
      error += std::abs(value - target);
      of_values.add(value);
      of_targets.add(target);
    }
  }
  if (!values.empty()) {
    numbers.value_std = of_values.std();
    numbers.target_std = of_targets.std();
    numbers.value_mae = error / static_cast<double>(values.size());
    numbers.spearman = value_spearman_tied(values, returns);
  }
}

bool ReportNumbers::is_nearly_constant() const {
  constexpr double kPart = 0.1;
  return std::isfinite(value_std) && value_std < kPart * target_std;
}

}  // namespace flexor::recap
