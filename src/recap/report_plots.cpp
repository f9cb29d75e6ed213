#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/str_cat.h"
#include "base/text.h"
#include "recap/report_sections.h"
#include "report/distribution_plot.h"
#include "report/svg_plot.h"

namespace flexor::recap {
namespace {

constexpr int kColours[kNumEpisodeKinds] = {2, 0, 1, 5};  // demonstrations, successes, failures, no outcome
constexpr int kCalibrationColour = 3;
constexpr size_t kMostPoints = 2000, kMostMarkers = 3;
constexpr int kWideHeight = 280, kScatterHeight = 300;  // of plots side by side

/// Shares of each kind's own frames, so that few failures show beside many successes.
report::DistributionPlot distribution(const std::string& title, const std::string& x_label,
                                      const KindHistogram& histogram) {
  report::DistributionPlot plot{
      .title = title, .x_label = x_label, .y_label = "% of each kind's frames", .edges = histogram.edges};
  for (size_t kind = 0; kind < kNumEpisodeKinds && !histogram.is_empty(); ++kind) {
    int64_t total = 0;
    for (const int64_t count : histogram.counts[kind]) {
      total += count;
    }
    if (total == 0) {
      continue;
    }
    report::BinGroup group{std::string(kind_name(static_cast<EpisodeKind>(kind))), {}, kColours[kind]};
    for (const int64_t count : histogram.counts[kind]) {
      group.heights.push_back(100.0 * static_cast<double>(count) / static_cast<double>(total));
    }
    plot.groups.push_back(std::move(group));
  }
  return plot;
}

/// Points by kind, thinned out evenly to what a plot can show.
class Points {
 public:
  explicit Points(size_t total) : every_(total / kMostPoints + 1) {}

  void add(EpisodeKind kind, double x, double y) {
    if (count_++ % every_ == 0) {
      groups_[static_cast<size_t>(kind)].first.push_back(x);
      groups_[static_cast<size_t>(kind)].second.push_back(y);
    }
  }
  size_t every() const { return every_; }
  std::vector<report::PointGroup> groups() {
    std::vector<report::PointGroup> result;
    for (size_t kind = 0; kind < kNumEpisodeKinds; ++kind) {
      auto& [x, y] = groups_[kind];
      if (!x.empty()) {
        const std::string name(kind_name(static_cast<EpisodeKind>(kind)));
        result.push_back({name, std::move(x), std::move(y), kColours[kind]});
      }
    }
    return result;
  }

 private:
  size_t every_, count_ = 0;
  std::array<std::pair<std::vector<double>, std::vector<double>>, kNumEpisodeKinds> groups_;
};

std::string frames_scatter(const JudgedRun& run, const ReportNumbers& numbers) {
  Points points(static_cast<size_t>(numbers.total().frames));
  for (const JudgedDataset& dataset : run.datasets) {
    for (const JudgedEpisode& episode : dataset.episodes) {
      for (size_t row = episode.first; row < episode.end && !dataset.values.empty() && !dataset.returns.empty();
           ++row) {
        points.add(episode.kind, run.target(dataset.returns[row]), dataset.values[row]);
      }
    }
  }
  report::ScatterPlot plot{.title = "V against the return, frames", .x_label = "return, normalised", .y_label = "V"};
  if (points.every() > 1) {
    plot.title += str_cat(" (one of ", points.every(), ")");
  }
  plot.diagonal = true;
  plot.groups = points.groups();
  return to_svg(plot);
}

std::string episodes_scatter(const JudgedRun& run, const ReportNumbers& numbers) {
  Points points(numbers.episodes.size());
  for (const EpisodeNumbers& episode : numbers.episodes) {
    if (std::isfinite(episode.gap)) {
      points.add(run.datasets[episode.dataset].episodes[episode.place].kind, episode.target_mean, episode.value_mean);
    }
  }
  report::ScatterPlot plot{
      .title = "V against the return, means of episodes", .x_label = "mean return, normalised", .y_label = "mean V"};
  if (points.every() > 1) {
    plot.title += str_cat(" (one of ", points.every(), ")");
  }
  plot.diagonal = true;
  plot.groups = points.groups();
  return to_svg(plot);
}

std::string spearman_plot(const JudgedRun& run, const ReportNumbers& numbers) {
  constexpr size_t kBins = 20;
  KindHistogram histogram;
  for (size_t i = 0; i <= kBins; ++i) {
    histogram.edges.push_back(-1.0 + 2.0 * static_cast<double>(i) / kBins);
  }
  for (auto& counts : histogram.counts) {
    counts.assign(kBins, 0);
  }
  for (const EpisodeNumbers& episode : numbers.episodes) {
    if (episode.spearman) {
      const auto kind = static_cast<size_t>(run.datasets[episode.dataset].episodes[episode.place].kind);
      const auto bin = static_cast<size_t>(std::max(0.0, (*episode.spearman + 1.0) / 2.0 * kBins));
      ++histogram.counts[kind][std::min(kBins - 1, bin)];
    }
  }
  report::DistributionPlot plot =
      distribution("Does V rise with the return within an episode?", "Spearman of V and return", histogram);
  plot.y_label = "% of each kind's episodes";
  plot.height = kScatterHeight;
  return to_svg(plot);
}

std::string calibration_plot(const ReportNumbers& numbers) {
  report::ScatterPlot plot{.title = "Calibration: what frames with this V returned",
                           .x_label = "V, mean of the bin",
                           .y_label = "mean return, normalised"};
  plot.diagonal = true;
  plot.connected = true;
  report::PointGroup group{"return", {}, {}, kCalibrationColour};
  for (const CalibrationBin& bin : numbers.calibration) {
    group.x.push_back(bin.value_mean);
    group.y.push_back(bin.target_mean);
  }
  plot.groups.push_back(std::move(group));
  return to_svg(plot);
}

std::string progress_plot(const ReportNumbers& numbers) {
  report::LinePlot plot{.title = "Positive frames in the course of an episode",
                        .x_label = "% of the episode's time",
                        .y_label = "% positive"};
  plot.from_zero = true;
  plot.height = kWideHeight;
  for (size_t kind = 0; kind < kNumEpisodeKinds; ++kind) {
    const std::vector<double>& shares = numbers.positive_by_progress[kind];
    if (std::none_of(shares.begin(), shares.end(), [](double share) { return std::isfinite(share); })) {
      continue;
    }
    report::Series series{.name = std::string(kind_name(static_cast<EpisodeKind>(kind))), .x = {}, .y = {}};
    series.colour = kColours[kind];
    for (size_t i = 0; i < shares.size(); ++i) {
      series.x.push_back(100.0 * (static_cast<double>(i) + 0.5) / static_cast<double>(shares.size()));
      series.y.push_back(100.0 * shares[i]);
    }
    plot.series.push_back(std::move(series));
  }
  return to_svg(plot);
}

report::DistributionPlot scores_plot(const JudgedRun& run, const ReportNumbers& numbers) {
  report::DistributionPlot plot =
      run.is_steam() ? distribution("Scores of the ensemble", "score of the most doubtful member", numbers.scores)
                     : distribution("Advantages of all frames", "advantage A", numbers.scores);
  plot.height = kWideHeight;
  if (numbers.scores.is_cut) {
    plot.x_label += " (the outer bins hold what lies beyond)";
  }
  std::set<double> thresholds;
  for (const JudgedDataset& dataset : run.datasets) {
    if (dataset.threshold && thresholds.size() < kMostMarkers && thresholds.insert(*dataset.threshold).second) {
      plot.markers.push_back({*dataset.threshold, str_cat("threshold ", short_number(*dataset.threshold, 4))});
    }
  }
  return plot;
}

}  // namespace

void add_values(report::HtmlPage& page, const JudgedRun& run, const ReportNumbers& numbers) {
  add_heading(page, "values", "Returns and values");
  std::vector<std::string> plots;
  if (!numbers.returns.is_empty()) {
    plots.push_back(
        to_svg(distribution("Returns of all frames", "return G, steps to go plus penalty", numbers.returns)));
  }
  if (!numbers.values.is_empty()) {
    plots.push_back(to_svg(distribution("Values of all frames", "value V", numbers.values)));
  }
  if (numbers.spearman || !numbers.calibration.empty()) {
    plots.push_back(frames_scatter(run, numbers));
    plots.push_back(episodes_scatter(run, numbers));
    plots.push_back(calibration_plot(numbers));
    plots.push_back(spearman_plot(run, numbers));
  }
  page.plots(plots);
  if (std::isfinite(numbers.calibration_error)) {
    page.paragraph(
        str_cat("Calibration error (mean over frames of the distance between V and the return in a bin of V): ",
                short_number(numbers.calibration_error, 3),
                ". On the thin line V is what came; above it V was too low, below it too high."));
  }
  if (!run.has_returns() && !run.is_steam()) {
    add_missing(page, "No returns yet: `flexor recap returns --config FILE` makes them.");
  } else if (run.is_steam() && !run.has_values()) {
    add_missing(page, "The labels are an ensemble's, which needs no returns and has no value V.");
  } else if (!run.has_values() && run.has_scores()) {
    add_missing(page, "The labels hold no values (column value_current), so V cannot be compared with the returns.");
  } else if (!run.has_values()) {
    add_missing(page, "No values yet: `flexor recap advantages --config FILE` judges the frames.");
  }
}

void add_advantages(report::HtmlPage& page, const JudgedRun& run, const ReportNumbers& numbers) {
  add_heading(page, "advantages", run.is_steam() ? "Scores and labels" : "Advantages and labels");
  for (const JudgedDataset& dataset : run.datasets) {
    if (dataset.scores.empty()) {
      std::string tags;
      for (const std::string& tag : dataset.other_tags) {
        tags += str_cat(tags.empty() ? " Tags there are: " : ", ", tag.empty() ? "(none)" : tag);
      }
      add_missing(page,
                  str_cat(dataset.name,
                          " has no labels of this run's tag yet: `flexor recap advantages --config FILE` makes them.",
                          tags.empty() ? "" : tags + "."));
    }
  }
  if (!run.has_scores()) {
    return;
  }
  add_origins(page, run);
  page.plots({to_svg(scores_plot(run, numbers)), progress_plot(numbers)});
  add_positive_rates(page, "dataset", numbers.by_dataset, run.is_steam());
  page.paragraph(
      "Demonstrations are positive whatever their score; what the score alone would say stands in the column before "
      "the last.");
  if (!numbers.by_task.empty()) {
    page.markup("<h3>By task</h3>\n");
    add_positive_rates(page, "task", numbers.by_task, run.is_steam());
  }
}

}  // namespace flexor::recap
