#include "report/action_plots.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "base/str_cat.h"
#include "base/text.h"
#include "report/svg_plot.h"

namespace flexor::report {
namespace {

/// Numbers of a JSON list; null is not a number.
std::vector<double> numbers_of(const Json* list) {
  std::vector<double> numbers;
  if (list != nullptr && list->is_array()) {
    for (const Json& value : list->as_array()) {
      numbers.push_back(value.is_number() ? value.as_double() : std::nan(""));
    }
  }
  return numbers;
}

/// Column `j` of a [T][A] list.
std::vector<double> column_of(const Json* rows, size_t j) {
  std::vector<double> column;
  if (rows != nullptr && rows->is_array()) {
    for (const Json& row : rows->as_array()) {
      const std::vector<double> values = numbers_of(&row);
      column.push_back(j < values.size() ? values[j] : std::nan(""));
    }
  }
  return column;
}

std::vector<std::string> names_of(const Json& json, size_t count) {
  std::vector<std::string> names;
  const Json* given = json.find("names");
  for (size_t i = 0; i < count; ++i) {
    const bool is_named =
        given != nullptr && given->is_array() && i < given->size() && given->as_array()[i].is_string();
    names.push_back(is_named ? given->as_array()[i].as_string() : str_cat("action ", i));
  }
  return names;
}

std::vector<double> count_up(size_t n) {
  std::vector<double> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  return numbers;
}

}  // namespace

void add_figure(Figures& figures, const std::string& name, double value, int digits) {
  if (std::isfinite(value)) {
    figures.emplace_back(name, short_number(value, digits));
  }
}

void add_samples(HtmlPage& page, const Json& samples) {
  const Json* list = samples.find("samples");
  if (list == nullptr || !list->is_array() || list->size() == 0) {
    return;
  }
  constexpr size_t kMaxSamples = 4, kMaxDims = 8;
  page.heading("Sample predictions");
  page.paragraph("Predicted and recorded actions over the action horizon, in physical units.");
  for (size_t i = 0; i < std::min(kMaxSamples, list->size()); ++i) {
    const Json& sample = list->as_array()[i];
    const auto text_of = [&](std::string_view key) {
      const Json* value = sample.find(key);
      return value == nullptr ? std::string("?") : value->is_string() ? value->as_string() : value->dump();
    };
    page.paragraph(str_cat("Episode ", text_of("episode"), ", frame ", text_of("frame")));
    const Json* predicted = sample.find("predicted");
    const size_t num_dims =
        predicted != nullptr && predicted->is_array() && predicted->size() > 0 ? predicted->as_array()[0].size() : 0;
    const std::vector<std::string> names = names_of(samples, num_dims);
    std::vector<std::string> plots;
    for (size_t j = 0; j < std::min(kMaxDims, num_dims); ++j) {
      const std::vector<double> values = column_of(predicted, j), truth = column_of(sample.find("recorded"), j);
      LinePlot plot{.title = names[j], .x_label = "horizon step", .y_label = "", .width = 520, .height = 200};
      plot.series = {{"predicted", count_up(values.size()), values}, {"recorded", count_up(truth.size()), truth}};
      plots.push_back(to_svg(plot));
    }
    page.plots(plots);
  }
}

void add_evaluation(HtmlPage& page, const Json& evaluation) {
  const std::vector<double> mae = numbers_of(evaluation.find("mae")),
                            by_step = numbers_of(evaluation.find("mae_by_step"));
  const auto number = [&](std::string_view key) {
    const Json* value = evaluation.find(key);
    return value != nullptr && value->is_number() ? value->as_double() : std::nan("");
  };
  page.heading("Open-loop evaluation");
  const double mean =
      mae.empty() ? std::nan("") : std::accumulate(mae.begin(), mae.end(), 0.0) / static_cast<double>(mae.size());
  Figures figures;
  add_figure(figures, "loss", number("loss"));
  add_figure(figures, "mean absolute error", mean);
  add_figure(figures, "error of holding still", number("baseline_hold_mae"));
  add_figure(figures, "error of the mean action", number("baseline_mean_mae"));
  add_figure(figures, "frames", number("frames"), 9);
  page.figures(figures);
  BarPlot bars{.title = "Mean absolute error per action value", .y_label = "physical units"};
  bars.labels = names_of(evaluation, mae.size());
  bars.groups = {{"policy", mae}};
  LinePlot line{
      .title = "Mean absolute error per horizon step", .x_label = "horizon step", .y_label = "physical units"};
  line.from_zero = true;
  line.series = {{"policy", count_up(by_step.size()), by_step}};
  const std::array<std::pair<std::string_view, std::string>, 2> baselines = {
      {{"baseline_hold_mae", "hold still"}, {"baseline_mean_mae", "mean action"}}};
  for (const auto& [key, shown] : baselines) {
    if (const double value = number(key); std::isfinite(value) && by_step.size() > 1) {
      line.series.push_back({shown, {0.0, static_cast<double>(by_step.size() - 1)}, {value, value}});
    }
  }
  page.plots({to_svg(bars), to_svg(line)});
}

}  // namespace flexor::report
