#include "recap/report_curves.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/str_cat.h"
#include "base/text.h"
#include "report/svg_plot.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

/// A curve of metrics.jsonl and what it is called.
struct Line {
  std::string_view metric, name;
};
struct Panel {
  std::string_view title, y_label;
  std::vector<Line> lines;
  bool from_zero = false;
};

const std::vector<Panel>& value_panels() {
  static const std::vector<Panel> panels = {
      {"Loss of the value model", "cross-entropy, nats", {{"loss", "training"}, {"eval/loss", "validation"}}},
      {"Mean |V - G|", "normalised return", {{"value_mae", "training"}, {"eval/value_mae", "validation"}}, true},
      {"Error of the best bin (mae)", "normalised return", {{"mae", "training"}, {"eval/mae", "validation"}}, true},
      {"Rank correlation of V and G",
       "Spearman",
       {{"value_spearman", "training, in a batch"}, {"eval/value_spearman_tied", "validation"}}},
      {"Accuracy of the ensemble's bins", "share", {{"acc_best", "training"}, {"eval/acc_best", "validation"}}, true},
      {"Accuracy within one bin", "share", {{"acc_neighbor", "training"}, {"eval/acc_neighbor", "validation"}}, true},
  };
  return panels;
}

const std::vector<Panel>& policy_panels() {
  static const std::vector<Panel> panels = {
      {"Loss of the policy",
       "flow-matching loss",
       {{"loss", "training"}, {"eval/loss", "validation"}, {"loss_real_dims", "own dimensions"}}},
      {"Training loss by route",
       "flow-matching loss",
       {{"positive_conditional_loss", "positive"},
        {"negative_conditional_loss", "negative"},
        {"unconditional_loss", "no label"}}},
      {"Validation loss by label",
       "flow-matching loss",
       {{"eval/positive_loss", "positive"},
        {"eval/negative_loss", "negative"},
        {"eval/unconditional_loss", "no label"}}},
      {"Labels and routes of a step's samples",
       "share",
       {{"positive_label_ratio", "labelled positive"},
        {"conditional_ratio", "told their label"},
        {"unconditional_ratio", "not told"}},
       true},
      {"Gradient norm before clipping", "L2 norm", {{"grad_norm", "gradient norm"}}, true},
      {"Learning rate", "", {{"lr", "learning rate"}}, true},
  };
  return panels;
}

std::string svg_of(const Panel& panel, const report::RunFiles& run) {
  report::LinePlot plot{
      .title = std::string(panel.title), .x_label = "step", .y_label = std::string(panel.y_label), .series = {}};
  plot.from_zero = panel.from_zero;
  for (const Line& line : panel.lines) {
    if (const report::Curve* curve = run.find(line.metric)) {
      report::Series series{.name = std::string(line.name), .x = curve->steps, .y = curve->values};
      series.points = line.metric.starts_with("eval");
      series.colour = static_cast<int>(&line - panel.lines.data());  // the same whatever else there is
      plot.series.push_back(std::move(series));
    }
  }
  return plot.series.empty() ? "" : to_svg(plot);
}

void add_panels(report::HtmlPage& page, const std::vector<Panel>& panels, const report::RunFiles& run) {
  std::vector<std::string> plots;
  for (const Panel& panel : panels) {
    if (std::string svg = svg_of(panel, run); !svg.empty()) {
      plots.push_back(std::move(svg));
    }
  }
  page.plots(plots);
  if (run.num_cut_lines > 0) {
    page.paragraph(str_cat("The last line of ", run.folder,
                           "/metrics.jsonl is incomplete: the training was stopped while it wrote, or still runs."));
  }
}

/// Validations of each dataset, which the plots average.
void add_validations(report::HtmlPage& page, const report::RunFiles& run) {
  std::vector<std::vector<std::string>> rows;
  for (const report::Curve& curve : run.curves) {
    if (curve.name.starts_with("eval/") && !curve.values.empty()) {
      const auto [low, high] = std::minmax_element(curve.values.begin(), curve.values.end());
      rows.push_back({curve.name.substr(curve.name.find('/') + 1), short_number(curve.values.front()),
                      short_number(curve.values.back()), short_number(*low), short_number(*high)});
    }
  }
  if (!rows.empty()) {
    page.folded_table("Validation in numbers", {"metric", "first", "last", "smallest", "largest"}, rows);
  }
}

int64_t step_in_name(const std::string& name) {
  return std::strtoll(name.c_str() + name.rfind('_') + 1, nullptr, 10);
}

void add_checkpoints(const std::string& output_dir, const std::string& training, std::vector<ReportCheckpoint>& all) {
  const std::string folder = str_cat(training, "/checkpoints/");
  const fs::path path = fs::path(output_dir) / folder;
  std::error_code ignored;
  const std::string best = fs::read_symlink(path / "best", ignored).filename().string();
  const std::string last = fs::read_symlink(path / "last", ignored).filename().string();
  std::vector<std::string> names;
  for (auto entry = fs::directory_iterator(path, ignored); !ignored && entry != fs::directory_iterator();
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("global_step_") && name.find('.') == std::string::npos) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return step_in_name(a) < step_in_name(b); });
  for (const std::string& name : names) {
    all.push_back({folder + name, name == best, name == last});
  }
}

report::RunFiles read_if_there(const std::string& folder) {
  return fs::exists(fs::path(folder) / "metrics.jsonl") ? report::read_run(folder) : report::RunFiles{};
}

}  // namespace

ReportCurves read_report_curves(const std::string& output_dir) {
  ReportCurves curves{.value = read_if_there(output_dir + "/value"),
                      .policy = read_if_there(output_dir + "/policy"),
                      .checkpoints = {}};
  add_checkpoints(output_dir, "value", curves.checkpoints);
  add_checkpoints(output_dir, "policy", curves.checkpoints);
  return curves;
}

void add_value_training(report::HtmlPage& page, const report::RunFiles& run) {
  add_panels(page, value_panels(), run);
  add_validations(page, run);
}

void add_policy_training(report::HtmlPage& page, const report::RunFiles& run) {
  add_panels(page, policy_panels(), run);
  add_validations(page, run);
}

}  // namespace flexor::recap
