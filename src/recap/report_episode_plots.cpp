#include "recap/report_episode_plots.h"

#include <cmath>
#include <utility>
#include <vector>

#include "base/str_cat.h"
#include "base/text.h"
#include "report/svg_plot.h"

namespace flexor::recap {
namespace {

constexpr int kPlotWidth = 1120, kPlotHeight = 170;  // report_assets.cpp knows the width
constexpr size_t kMostValues = 1500;                 // of each curve, for the cursor
constexpr int kModelColour = 3, kReturnColour = 5, kThresholdColour = 4;

double rounded(double value) {
  constexpr double kPart = 1e5;
  return std::round(value * kPart) / kPart;
}

template <typename T, typename Map>
report::Series series(const EpisodeFrames& frames, std::string name, const std::vector<T>& column, int colour,
                      const Map& map) {
  report::Series result{.name = std::move(name), .x = {}, .y = {}, .colour = colour};
  for (size_t place = 0; place < frames.episode.length(); ++place) {
    result.x.push_back(static_cast<double>(place) / frames.fps.value_or(1.0));
    result.y.push_back(map(column[frames.episode.first + place]));
  }
  return result;
}

double same(double value) {
  return value;
}

/// The threshold of the dataset, or of the episode's first task where each task has its own.
std::optional<double> threshold_of(const EpisodeFrames& frames) {
  const JudgedDataset& dataset = frames.dataset;
  if (!dataset.tasks.empty()) {
    const auto task = static_cast<size_t>(dataset.tasks[frames.episode.first]);
    const auto found = dataset.task_thresholds.find(frames.run.tasks[task]);
    if (found != dataset.task_thresholds.end()) {
      return found->second;
    }
  }
  return dataset.threshold;
}

std::string value_plot(const EpisodeFrames& frames, const std::string& x_label) {
  const JudgedRun& run = frames.run;
  report::LinePlot plot{.title = "Value V and return over time", .x_label = x_label, .y_label = ""};
  plot.y_label = run.to_minus_one_zero ? "normalised: 0 is success, -1 the worst return"
                                       : "normalised: 1 is the best return, 0 the worst";
  plot.width = kPlotWidth;
  plot.height = kPlotHeight;
  plot.series.push_back(series(frames, "V", frames.dataset.values, kModelColour, same));
  if (!frames.dataset.returns.empty()) {
    plot.series.push_back(series(frames, "return", frames.dataset.returns, kReturnColour,
                                 [&run](float value) { return run.target(value); }));
  }
  return to_svg(plot);
}

std::string score_plot(const EpisodeFrames& frames, const std::string& x_label) {
  const bool is_steam = frames.dataset.is_steam();
  report::LinePlot plot{.title = is_steam ? "Score of the ensemble over time" : "Advantage A over time",
                        .x_label = x_label,
                        .y_label = is_steam ? "-1 backward, 1 forward" : "above 0: better than V foresaw"};
  plot.width = kPlotWidth;
  plot.height = kPlotHeight;
  plot.series.push_back(series(frames, is_steam ? "score" : "A", frames.dataset.scores, kModelColour, same));
  if (const std::optional<double> threshold = threshold_of(frames)) {
    plot.title += str_cat(", with the threshold ", short_number(*threshold, 4));
    plot.bands.push_back({*threshold, *threshold, kThresholdColour, "level"});
  }
  return to_svg(plot);
}

}  // namespace

std::string episode_plots(const EpisodeFrames& frames) {
  const std::string x_label = frames.fps ? "s" : "frames";
  return (frames.dataset.values.empty() ? "" : value_plot(frames, x_label)) + score_plot(frames, x_label);
}

Json cursor_values(const EpisodeFrames& frames) {
  const JudgedDataset& dataset = frames.dataset;
  const size_t step = (frames.episode.length() + kMostValues - 1) / kMostValues;
  Json value = Json::array(), target = Json::array(), score = Json::array();
  std::string label;
  for (size_t row = frames.episode.first; row < frames.episode.end; row += step) {
    if (!dataset.values.empty()) {
      value.push_back(rounded(dataset.values[row]));
    }
    if (!dataset.returns.empty()) {
      target.push_back(rounded(frames.run.target(dataset.returns[row])));
    }
    score.push_back(rounded(dataset.scores[row]));
    label += dataset.labels[row] != 0 ? '1' : '0';
  }
  return Json::object({{"fps", frames.fps.value_or(1.0)},
                       {"timed", frames.fps.has_value()},
                       {"step", step},
                       {"first", dataset.frame_index[frames.episode.first]},
                       {"name", dataset.is_steam() ? "score" : "A"},
                       {"value", std::move(value)},
                       {"target", std::move(target)},
                       {"score", std::move(score)},
                       {"label", label}});
}

}  // namespace flexor::recap
