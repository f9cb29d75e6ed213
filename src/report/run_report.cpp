#include "report/run_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "report/action_plots.h"
#include "report/svg_plot.h"

namespace flexor::report {
namespace {

/// Mean of the last `window` values; values that are not finite are left out.
std::vector<double> running_mean(const std::vector<double>& values, size_t window) {
  std::vector<double> means;
  double sum = 0.0;
  size_t count = 0;
  const auto add = [&](double value, double sign) {
    if (std::isfinite(value)) {
      sum += sign * value;
      count += sign > 0 ? 1 : -1;
    }
  };
  for (size_t i = 0; i < values.size(); ++i) {
    add(values[i], 1.0);
    if (i >= window) {
      add(values[i - window], -1.0);
    }
    means.push_back(count == 0 ? std::nan("") : sum / static_cast<double>(count));
  }
  return means;
}

double mean_of_last(const Curve& curve, size_t count) {
  const size_t first = curve.values.size() > count ? curve.values.size() - count : 0;
  double sum = 0.0;
  size_t used = 0;
  for (size_t i = first; i < curve.values.size(); ++i) {
    if (std::isfinite(curve.values[i])) {
      sum += curve.values[i];
      ++used;
    }
  }
  return used == 0 ? std::nan("") : sum / static_cast<double>(used);
}

double median(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) {
    return std::nan("");
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Series series_of(const Curve& curve) {
  return {curve.name, curve.steps, curve.values};
}

/// Runs of other models (the value model) have no policy.type.
bool is_policy_run(const RunFiles& run) {
  return run.config.empty() || std::any_of(run.config.begin(), run.config.end(),
                                           [](const auto& pair) { return pair.first == "policy.type"; });
}

std::string loss_plot(const RunFiles& run) {
  LinePlot plot{.title = "Loss", .x_label = "step", .y_label = is_policy_run(run) ? "flow-matching loss" : "loss"};
  if (const Curve* loss = run.find("loss")) {
    const size_t window = std::max<size_t>(1, loss->values.size() / 25);
    plot.series.push_back({"training", loss->steps, running_mean(loss->values, window)});
    if (window > 1) {
      plot.y_label += str_cat(", mean of ", window, " logged values (faint: each)");
      Series raw = series_of(*loss);
      raw.faint = true;
      raw.colour = 0;
      plot.series.push_back(std::move(raw));
    }
  }
  if (const Curve* held_out = run.find("eval_loss")) {
    Series series = series_of(*held_out);
    series.name = "held out";
    series.points = true;
    series.colour = 1;
    plot.series.push_back(std::move(series));
  }
  return to_svg(plot);
}

struct Known {
  std::string_view name, title, unit;
  bool log_y, from_zero;
};
constexpr std::array<Known, 4> kKnown = {
    {{"grad_norm", "Gradient norm before clipping", "L2 norm", true, false},
     {"lr", "Learning rate", "", false, true},
     {"samples_per_s", "Throughput", "samples per second", false, true},
     {"data_wait_share", "Waiting for data", "share of the step's time", false, true}}};

std::vector<std::string> curve_plots(const RunFiles& run) {
  std::vector<std::string> plots = {loss_plot(run)};
  for (const Known& known : kKnown) {
    if (const Curve* curve = run.find(known.name)) {
      LinePlot plot{.title = std::string(known.title), .x_label = "step", .y_label = std::string(known.unit)};
      plot.series = {series_of(*curve)};
      plot.log_y = known.log_y;
      plot.from_zero = known.from_zero;
      plots.push_back(to_svg(plot));
    }
  }
  LinePlot times{.title = "Time of a step", .x_label = "step", .y_label = "seconds"};
  times.from_zero = true;
  const std::array<std::pair<std::string_view, std::string>, 2> parts = {{{"updt_s", "update"}, {"data_s", "data"}}};
  for (const auto& [name, shown] : parts) {
    if (const Curve* curve = run.find(name)) {
      times.series.push_back({shown, curve->steps, curve->values});
    }
  }
  if (!times.series.empty()) {
    plots.push_back(to_svg(times));
  }
  const std::set<std::string_view> drawn = {"loss",   "eval_loss",       "grad_norm", "lr",      "samples_per_s",
                                            "updt_s", "data_wait_share", "data_s",    "samples", "epoch"};
  for (const Curve& curve : run.curves) {
    if (drawn.find(curve.name) == drawn.end()) {
      LinePlot plot{.title = curve.name, .x_label = "step", .y_label = "", .series = {series_of(curve)}};
      plots.push_back(to_svg(plot));
    }
  }
  return plots;
}

Figures figures_of(const RunFiles& run) {
  constexpr size_t kLossWindow = 50;
  Figures figures;
  if (const Curve* loss = run.find("loss"); loss != nullptr && !loss->steps.empty()) {
    add_figure(figures, "steps", loss->steps.back(), 9);
    add_figure(figures, "training loss, first", loss->values.front());
    add_figure(figures, "training loss, last", mean_of_last(*loss, std::min(kLossWindow, loss->values.size() / 5 + 1)));
  }
  if (const Curve* held_out = run.find("eval_loss"); held_out != nullptr && !held_out->values.empty()) {
    add_figure(figures, "held-out loss, first", held_out->values.front());
    add_figure(figures, "held-out loss, last", held_out->values.back());
  }
  if (const Curve* rate = run.find("samples_per_s")) {
    add_figure(figures, "samples per second, median", median(rate->values), 3);
  }
  if (const Curve* wait = run.find("data_wait_share")) {
    const double percent = 100.0 * median(wait->values);
    if (std::isfinite(percent)) {
      figures.emplace_back("waiting for data, median", short_number(percent, 2) + " %");
    }
  }
  return figures;
}

std::vector<std::vector<std::string>> rows_of(const Pairs& pairs) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, value] : pairs) {
    rows.push_back({key, value});
  }
  return rows;
}

void add_checkpoints(HtmlPage& page, const std::vector<CheckpointInfo>& checkpoints) {
  if (checkpoints.empty()) {
    return;
  }
  page.heading("Checkpoints");
  std::vector<std::vector<std::string>> rows;
  rows.reserve(checkpoints.size());
  for (const CheckpointInfo& checkpoint : checkpoints) {
    rows.push_back({"checkpoints/" + checkpoint.name, human_bytes(static_cast<double>(checkpoint.bytes)),
                    checkpoint.is_last ? "last" : ""});
  }
  page.table({"folder", "size", ""}, rows);
}

std::string title_of(const RunFiles& run) {
  for (const auto& [key, value] : run.config) {
    if (key == "policy.type") {
      return "Training run of " + value;
    }
  }
  return "Training run";
}

}  // namespace

std::string run_page(const RunFiles& run) {
  HtmlPage page(title_of(run));
  page.paragraph(run.folder);
  if (run.num_cut_lines > 0) {
    page.paragraph(
        "The last line of metrics.jsonl is incomplete: the run was stopped while it wrote, or is still running.");
  }
  page.figures(figures_of(run));
  if (!run.summary.empty()) {
    page.table({"summary", ""}, rows_of(run.summary));
  }
  page.heading("Curves");
  page.plots(curve_plots(run));
  if (run.evaluation.is_object()) {
    add_evaluation(page, run.evaluation);
  }
  add_samples(page, run.samples);
  add_checkpoints(page, run.checkpoints);
  if (!run.config.empty()) {
    page.heading("Configuration");
    page.folded_table(str_cat(run.config.size(), " keys of config.yaml"), {"key", "value"}, rows_of(run.config));
  }
  if (!run.environment.empty()) {
    page.heading("Environment");
    page.table({"", ""}, rows_of(run.environment));
  }
  return page.str();
}

std::string write_run_report(const std::string& run_dir, const std::string& out_html) {
  const std::string page = run_page(read_run(run_dir));
  const std::string path = out_html.empty() ? (std::filesystem::path(run_dir) / "report.html").string() : out_html;
  check_output_file(path, kHtmlPage);
  write_file_atomic(path, page);
  return path;
}

}  // namespace flexor::report
