#include "data/dataset_check.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::data {
namespace {

/// Rows of one episode.
class EpisodeCheck {
 public:
  EpisodeCheck(const Dataset& dataset, int64_t number, std::vector<Finding>& findings)
      : dataset_(dataset),
        episode_(dataset.episode(number)),
        first_row_(dataset.first_row(number)),
        start_s_(dataset.start_time(number)),
        findings_(findings) {}

  void numbering(const Episode* previous, int64_t previous_end) {
    const Column& index = dataset_.column("index");
    const auto first = static_cast<int64_t>(index.at(first_row_));
    const bool follows = previous && previous->episode_index + 1 == episode_.episode_index;
    const int64_t expected = follows ? previous_end : episode_.episode_index == 0 ? 0 : first;
    sequence(index, "index", "index does not count the frames of the dataset", expected);
    if (dataset_.has_column("frame_index")) {
      sequence(dataset_.column("frame_index"), "frame_index", "frame_index does not count from 0", 0);
    }
    const Column& episodes = dataset_.column("episode_index");
    for (int64_t k = 0; k < episode_.length; ++k) {
      const auto found = static_cast<int64_t>(episodes.at(first_row_ + k));
      if (found != episode_.episode_index) {
        return add("episode_index", "episode_index", k, str_cat(episode_.episode_index), str_cat(found),
                   "episode_index of the row");
      }
    }
  }

  /// timestamp = start + frame_index / fps; float32 columns are as exact as their type allows.
  void timestamps() {
    constexpr double kFloatStep = 6e-8;  // half a unit in the last place, relative
    const Column& times = dataset_.column("timestamp");
    for (int64_t k = 0; k < episode_.length; ++k) {
      const double expected = start_s_ + static_cast<double>(k) / dataset_.fps(), found = times.at(first_row_ + k);
      if (!(std::abs(found - expected) <= kToleranceS + kFloatStep * std::abs(expected))) {
        return add("timestamp", "timestamp", k, short_number(expected, 9), short_number(found, 9),
                   "timestamp (s) off the grid of the frames");
      }
    }
  }

  void tasks() {
    const Column& numbers = dataset_.column("task_index");
    std::set<int64_t> used;
    for (int64_t k = 0; k < episode_.length; ++k) {
      const auto task = static_cast<int64_t>(numbers.at(first_row_ + k));
      if (used.insert(task).second && !dataset_.tasks().contains(task)) {
        return add("task_index", "task_index", k, str_cat("one of ", dataset_.tasks().size(), " tasks"), str_cat(task),
                   "task_index without a task");
      }
    }
    std::set<std::string> texts = annotations();
    for (const int64_t task : used) {
      const std::string& text = dataset_.tasks().at(task);
      texts.insert(text);
      if (std::find(episode_.tasks.begin(), episode_.tasks.end(), text) == episode_.tasks.end()) {
        add("episode_tasks", "task_index", std::nullopt, listed(), text,
            "task of a frame that the episode does not list");
      }
    }
    for (const std::string& text : episode_.tasks) {
      if (!texts.contains(text)) {
        add("episode_tasks", "task_index", std::nullopt, "", text, "task that the episode lists and no frame uses");
      }
    }
  }

  /// Numbers that are not finite, in every floating-point column.
  void finite(const Column& column) {
    if (std::holds_alternative<std::vector<int64_t>>(column.values) ||
        std::holds_alternative<std::vector<uint8_t>>(column.values)) {
      return;
    }
    for (int64_t k = 0; k < episode_.length; ++k) {
      for (int64_t dim = 0; dim < column.width; ++dim) {
        const double value = column.at(first_row_ + k, dim);
        if (!std::isfinite(value)) {
          return add("not_finite", column.name, k, "a finite number", str_cat(value),
                     str_cat("value of dimension ", dim),
                     "leave the episode out with dataset.episodes, or repair the recording");
        }
      }
    }
  }

  int64_t end_index() const {
    return static_cast<int64_t>(dataset_.column("index").at(first_row_ + episode_.length - 1)) + 1;
  }

 private:
  void sequence(const Column& column, const std::string& name, const std::string& message, int64_t start) {
    for (int64_t k = 0; k < episode_.length; ++k) {
      const auto found = static_cast<int64_t>(column.at(first_row_ + k));
      if (found != start + k) {
        return add(name, name, k, str_cat(start + k), str_cat(found), message);
      }
    }
  }

  /// Task texts that annotation columns refer to (GR00T: annotation.human.validity holds a task_index).
  std::set<std::string> annotations() const {
    std::set<std::string> texts;
    for (const FeatureInfo& feature : dataset_.info().features) {
      if (!feature.recorded_name.starts_with("annotation.") || !dataset_.has_column(feature.name)) {
        continue;
      }
      const Column& column = dataset_.column(feature.name);
      for (int64_t k = 0; k < episode_.length; ++k) {
        const auto task = dataset_.tasks().find(static_cast<int64_t>(column.at(first_row_ + k)));
        if (task != dataset_.tasks().end()) {
          texts.insert(task->second);
        }
      }
    }
    return texts;
  }

  std::string listed() const { return episode_.tasks.empty() ? "a list of tasks" : join_text(episode_.tasks, " | "); }

  void add(const std::string& code, const std::string& feature, std::optional<int64_t> frame,
           const std::string& expected, const std::string& found, const std::string& message,
           const std::string& hint = {}) {
    findings_.push_back({.code = code,
                         .severity = Severity::kError,
                         .file = std::filesystem::path(episode_.data_file).lexically_relative(dataset_.root()).string(),
                         .episode = episode_.episode_index,
                         .frame = frame,
                         .feature = feature,
                         .expected = expected,
                         .found = found,
                         .message = message,
                         .hint = hint});
  }

  const Dataset& dataset_;
  const Episode& episode_;
  const int64_t first_row_;
  const double start_s_;
  std::vector<Finding>& findings_;
};

/// Dimensions of a column that never change, and those with huge values.
struct Suspects {
  std::vector<std::string> constant, huge;
};

Suspects suspects(const Dataset& dataset, const Column& column) {
  constexpr double kHuge = 1e6;
  Suspects result;
  for (int64_t dim = 0; dim < column.width; ++dim) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (int64_t number = 0; number < dataset.num_episodes(); ++number) {
      for (int64_t k = 0; k < dataset.episode(number).length; ++k) {
        const double value = column.at(dataset.first_row(number) + k, dim);
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
    if (low == high && dataset.num_frames() > 1) {
      result.constant.push_back(str_cat(dim));
    }
    if (high > kHuge || low < -kHuge) {
      result.huge.push_back(str_cat(dim));
    }
  }
  return result;
}

void warn_dimensions(const std::string& code, const std::string& feature, const std::vector<std::string>& dims,
                     const std::string& message, std::vector<Finding>& findings) {
  if (!dims.empty()) {
    findings.push_back({.code = code,
                        .severity = Severity::kWarning,
                        .feature = feature,
                        .message = str_cat(message, join_text(dims, ", "))});
  }
}

/// Recorded values, as opposed to the numbering that every dataset has.
bool is_signal(const Dataset& dataset, const std::string& name) {
  const FeatureInfo* feature = dataset.info().find(name);
  static const std::set<std::string_view> kNumbering = {"timestamp", "frame_index", "episode_index", "index",
                                                        "task_index"};
  return feature && !kNumbering.contains(name) && !feature->recorded_name.starts_with("annotation.");
}

}  // namespace

void check_rows(const Dataset& dataset, std::vector<Finding>& findings) {
  const Episode* previous = nullptr;
  int64_t previous_end = 0;
  for (int64_t number = 0; number < dataset.num_episodes(); ++number) {
    if (dataset.episode(number).length == 0) {
      continue;  // reported when the dataset was opened
    }
    EpisodeCheck check(dataset, number, findings);
    check.numbering(previous, previous_end);
    check.timestamps();
    check.tasks();
    previous = &dataset.episode(number);
    previous_end = check.end_index();
  }
}

void check_values(const Dataset& dataset, std::vector<Finding>& findings) {
  for (const FeatureInfo& feature : dataset.info().features) {
    if (!dataset.has_column(feature.name) || !is_signal(dataset, feature.name)) {
      continue;
    }
    const Column& column = dataset.column(feature.name);
    const size_t before = findings.size();
    for (int64_t number = 0; number < dataset.num_episodes(); ++number) {
      EpisodeCheck(dataset, number, findings).finite(column);
    }
    if (findings.size() == before) {
      const Suspects dims = suspects(dataset, column);
      warn_dimensions("constant_dimension", feature.name, dims.constant, "dimensions that never change: ", findings);
      warn_dimensions("huge_value", feature.name, dims.huge, "dimensions with values beyond a million: ", findings);
    }
  }
}

std::vector<Finding> check_dataset(const Dataset& dataset, const CheckOptions& options) {
  std::vector<Finding> findings = dataset.findings();
  check_rows(dataset, findings);
  check_values(dataset, findings);
  if (!has_errors(findings)) {
    check_stats(dataset, findings);
  }
  if (options.videos) {
    check_videos(dataset, findings);
  }
  return findings;
}

}  // namespace flexor::data
