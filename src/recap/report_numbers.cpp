#include "recap/report_numbers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "recap/report_histograms.h"
#include "recap/value_metrics.h"

namespace flexor::recap {
namespace {

constexpr size_t kProgressParts = 20;

template <typename T>
std::span<const T> part(const std::vector<T>& column, const JudgedEpisode& episode) {
  return std::span<const T>(column).subspan(episode.first, episode.length());
}

template <typename T>
double mean(std::span<const T> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

EpisodeNumbers numbers_of(const JudgedRun& run, const JudgedDataset& dataset, const JudgedEpisode& episode) {
  EpisodeNumbers numbers;
  if (!dataset.returns.empty()) {
    const auto returns = part(dataset.returns, episode);
    numbers.return_first = returns.front();
    numbers.return_mean = mean(returns);
    double sum = 0;
    std::for_each(returns.begin(), returns.end(), [&](float value) { sum += run.target(value); });
    numbers.target_mean = sum / static_cast<double>(returns.size());
  }
  if (!dataset.values.empty()) {
    const auto values = part(dataset.values, episode);
    numbers.value_first = values.front();
    numbers.value_last = values.back();
    numbers.value_mean = mean(values);
  }
  if (!dataset.values.empty() && !dataset.returns.empty()) {
    const auto values = part(dataset.values, episode), returns = part(dataset.returns, episode);
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      sum += std::abs(double{values[i]} - run.target(returns[i]));
    }
    numbers.gap = sum / static_cast<double>(values.size());
    numbers.spearman = value_spearman_tied(values, returns);
  }
  if (!dataset.scores.empty()) {
    const auto scores = part(dataset.scores, episode);
    const auto labels = part(dataset.labels, episode);
    numbers.score_mean = mean(scores);
    numbers.score_min = *std::min_element(scores.begin(), scores.end());
    numbers.score_max = *std::max_element(scores.begin(), scores.end());
    numbers.positive_share = mean(labels);
  }
  if (!dataset.disagreement.empty()) {
    numbers.disagreement = mean(part(dataset.disagreement, episode));
  }
  return numbers;
}

void add_episodes(const JudgedRun& run, ReportNumbers& numbers) {
  for (size_t d = 0; d < run.datasets.size(); ++d) {
    const JudgedDataset& dataset = run.datasets[d];
    for (size_t e = 0; e < dataset.episodes.size(); ++e) {
      const JudgedEpisode& episode = dataset.episodes[e];
      EpisodeNumbers& row = numbers.episodes.emplace_back(numbers_of(run, dataset, episode));
      row.dataset = d;
      row.place = e;
      KindCounts& counts = numbers.kinds[static_cast<size_t>(episode.kind)];
      ++counts.episodes;
      counts.frames += static_cast<int64_t>(episode.length());
      if (!dataset.labels.empty()) {
        const auto labels = part(dataset.labels, episode);
        counts.positive += std::accumulate(labels.begin(), labels.end(), int64_t{0});
      }
    }
  }
}

/// Whether the score alone makes a frame positive.
bool is_above(const JudgedRun& run, const JudgedDataset& dataset, size_t row) {
  std::optional<double> threshold = dataset.threshold;
  if (!dataset.task_thresholds.empty() && !dataset.tasks.empty()) {
    const auto found = dataset.task_thresholds.find(run.tasks[static_cast<size_t>(dataset.tasks[row])]);
    threshold = found == dataset.task_thresholds.end() ? threshold : std::optional(found->second);
  }
  const double score = dataset.scores[row];
  return threshold && (dataset.is_steam() ? score > *threshold : score >= *threshold);
}

void count(PositiveRate& rate, bool is_demonstration, bool is_positive, bool above) {
  ++rate.frames;
  rate.positive += is_positive ? 1 : 0;
  rate.above += above ? 1 : 0;
  rate.attempts += is_demonstration ? 0 : 1;
  rate.attempts_positive += !is_demonstration && is_positive ? 1 : 0;
}

void add_rates(const JudgedRun& run, ReportNumbers& numbers) {
  std::vector<PositiveRate> tasks(run.tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].name = run.tasks[i];
  }
  for (const JudgedDataset& dataset : run.datasets) {
    if (dataset.labels.empty()) {
      continue;
    }
    PositiveRate& of_dataset = numbers.by_dataset.emplace_back();
    of_dataset.name = dataset.name;
    of_dataset.type = dataset.type;
    of_dataset.threshold = dataset.threshold;
    const bool is_demonstration = is_sft(dataset.type);
    for (size_t row = 0; row < dataset.size(); ++row) {
      const bool is_positive = dataset.labels[row] != 0, above = is_above(run, dataset, row);
      count(of_dataset, is_demonstration, is_positive, above);
      if (!dataset.tasks.empty()) {
        count(tasks[static_cast<size_t>(dataset.tasks[row])], is_demonstration, is_positive, above);
      }
    }
    for (const auto& [task, threshold] : dataset.task_thresholds) {
      const auto found =
          std::find_if(tasks.begin(), tasks.end(), [&t = task](const auto& rate) { return rate.name == t; });
      if (found != tasks.end()) {
        found->threshold = threshold;
      }
    }
  }
  std::erase_if(tasks, [](const PositiveRate& rate) { return rate.frames == 0; });
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const PositiveRate& a, const PositiveRate& b) { return a.frames > b.frames; });
  numbers.by_task = std::move(tasks);
}

void add_progress(const JudgedRun& run, ReportNumbers& numbers) {
  std::array<std::array<std::pair<int64_t, int64_t>, kProgressParts>, kNumEpisodeKinds> counts{};
  for (const JudgedDataset& dataset : run.datasets) {
    for (const JudgedEpisode& episode : dataset.episodes) {
      for (size_t i = 0; i < episode.length() && !dataset.labels.empty(); ++i) {
        auto& [all, positive] = counts[static_cast<size_t>(episode.kind)][i * kProgressParts / episode.length()];
        ++all;
        positive += dataset.labels[episode.first + i];
      }
    }
  }
  for (size_t kind = 0; kind < kNumEpisodeKinds && run.has_scores(); ++kind) {
    for (const auto& [all, positive] : counts[kind]) {
      numbers.positive_by_progress[kind].push_back(PositiveRate::share(positive, all));
    }
  }
}

}  // namespace

KindCounts ReportNumbers::total() const {
  KindCounts sum;
  for (const KindCounts& kind : kinds) {
    sum.episodes += kind.episodes;
    sum.frames += kind.frames;
    sum.positive += kind.positive;
  }
  return sum;
}

ReportNumbers report_numbers(const JudgedRun& run) {
  ReportNumbers numbers;
  add_episodes(run, numbers);
  add_histograms(run, numbers);
  add_calibration(run, numbers);
  add_agreement(run, numbers);
  add_separation(run, numbers);
  add_rates(run, numbers);
  add_progress(run, numbers);
  return numbers;
}

}  // namespace flexor::recap
