#include "cli/recap_labels.h"

#include <algorithm>
#include <iomanip>
#include <ostream>

#include "base/text.h"
#include "cli/print_json.h"

namespace flexor::cli {
namespace {

void print_label_json(std::ostream& out, const LabelView& view) {
  Json datasets = Json::array(), by_task = Json::object();
  for (const recap::LabelReport& report : view.reports) {
    datasets.push_back(recap::to_json(report));
  }
  for (const auto& [task, threshold] : view.by_task) {
    by_task[task] = threshold;
  }
  Json result = Json::object({{"threshold", view.threshold}, {"task_thresholds", by_task}, {"datasets", datasets}});
  for (const auto& [key, value] : view.more.is_object() ? view.more.as_object() : Json::Object{}) {
    result[key] = value;
  }
  print_json(out, result, 2);
}

std::string percent(int64_t part, int64_t whole) {
  return whole == 0 ? "-" : short_number(100.0 * static_cast<double>(part) / static_cast<double>(whole), 3) + " %";
}

}  // namespace

void print_labels(std::ostream& out, const LabelView& view, bool json) {
  if (json) {
    print_label_json(out, view);
    return;
  }
  size_t width = 7;
  for (const recap::LabelReport& report : view.reports) {
    width = std::max(width, report.name.size());
  }
  const int name_width = static_cast<int>(width) + 2;
  out << std::left << std::setw(name_width) << "dataset" << std::setw(9) << "type" << std::right << std::setw(9)
      << "frames" << std::setw(17) << "above threshold" << std::setw(12) << "positive" << std::setw(13) << "A mean"
      << std::setw(12) << "V mean" << '\n';
  for (const recap::LabelReport& report : view.reports) {
    out << std::left << std::setw(name_width) << report.name << std::setw(9) << report.type << std::right
        << std::setw(9) << report.frames << std::setw(17) << percent(report.above, report.frames) << std::setw(12)
        << percent(report.positive, report.frames) << std::setw(13) << short_number(report.score_mean) << std::setw(12)
        << short_number(report.value_mean) << '\n';
  }
  out << "threshold " << short_number(view.threshold, 6) << '\n';
  for (const auto& [task, threshold] : view.by_task) {
    out << "threshold " << short_number(threshold, 6) << "  " << task << '\n';
  }
}

}  // namespace flexor::cli
