#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/str_cat.h"
#include "base/text.h"
#include "data/dataset_check.h"
#include "data/dataset_stats.h"

namespace flexor::data {
namespace {

using schema::FeatureStats;
using Values = std::vector<double>;

constexpr double kRelativeTolerance = 1e-3;
constexpr std::array<std::string_view, 7> kAscending = {"min", "q01", "q10", "q50", "q90", "q99", "max"};

class StatsCheck {
 public:
  StatsCheck(const Dataset& dataset, const std::string& feature, const FeatureStats& stored,
             std::vector<Finding>& findings)
      : dataset_(dataset), feature_(feature), stored_(stored), findings_(findings) {}

  /// Sizes, and what holds for the statistics of any data. Returns false if one does not.
  bool plausible(int64_t size) {
    for (const auto& [stat, values] : stored_.values) {
      if (stat != "count" && static_cast<int64_t>(values.size()) != size) {
        error("stats_shape", str_cat(size, " values"), str_cat(values.size()), str_cat(stat, " of the statistics"));
        return false;
      }
      const auto bad = std::find_if(values.begin(), values.end(), [](double v) { return !std::isfinite(v); });
      if (bad != values.end()) {
        error("stats_not_finite", "finite numbers", str_cat(*bad), str_cat(stat, " of the statistics"));
        return false;
      }
    }
    return ascending() && not_negative();
  }

  /// Stored and recomputed values of a feature that is in memory.
  void compare(const FeatureStats& actual) {
    const Values &low = actual.at("min"), &high = actual.at("max");
    for (const auto* stat : {"min", "max", "mean", "std"}) {
      if (!stored_.has(stat)) {
        continue;
      }
      const Values &said = stored_.at(stat), &is = actual.at(stat);
      for (size_t d = 0; d < said.size(); ++d) {
        const double scale = std::max({high[d] - low[d], std::abs(high[d]), std::abs(low[d]), 1e-6});
        if (!(std::abs(said[d] - is[d]) <= kRelativeTolerance * scale)) {
          return error("stats_mismatch", short_number(is[d], 6), short_number(said[d], 6),
                       str_cat(stat, " of dimension ", d, " in the stored statistics disagrees with the data"),
                       "the statistics belong to other data; delete them to have them computed");
        }
      }
    }
  }

 private:
  bool ascending() {
    std::string_view previous;
    for (const std::string_view stat : kAscending) {
      if (!stored_.has(stat)) {
        continue;
      }
      for (size_t d = 0; !previous.empty() && d < stored_.at(stat).size(); ++d) {
        const double below = stored_.at(previous)[d], above = stored_.at(stat)[d];
        if (below > above + 1e-6 * std::max({1.0, std::abs(below), std::abs(above)})) {
          error("stats_order", str_cat("at least ", previous, " = ", below), str_cat(above),
                str_cat(stat, " of dimension ", d, " in the stored statistics"));
          return false;
        }
      }
      previous = stat;
    }
    return true;
  }

  bool not_negative() {
    if (!stored_.has("std")) {
      return true;
    }
    for (const double value : stored_.at("std")) {
      if (value < 0) {
        error("stats_order", "0 or more", str_cat(value), "std in the stored statistics");
        return false;
      }
    }
    return true;
  }

  void error(const std::string& code, const std::string& expected, const std::string& found, const std::string& message,
             const std::string& hint = {}) {
    const DatasetInfo& info = dataset_.info();
    const bool per_episode = info.major == 2 && info.minor == 1;
    findings_.push_back({.code = code,
                         .severity = Severity::kError,
                         .file = per_episode ? "meta/episodes_stats.jsonl" : "meta/stats.json",
                         .feature = feature_,
                         .expected = expected,
                         .found = found,
                         .message = message,
                         .hint = hint});
  }

  const Dataset& dataset_;
  const std::string& feature_;
  const FeatureStats& stored_;
  std::vector<Finding>& findings_;
};

/// Writers before LeRobot 0.6 let the squares of uint8 pixels overflow.
void check_picture_std(const std::string& camera, const FeatureStats& stats, std::vector<Finding>& findings) {
  if (!stats.has("std") || !stats.has("min") || !stats.has("max") || stats.at("std").size() != stats.at("min").size()) {
    return;
  }
  constexpr double kSuspicious = 0.01;
  for (size_t c = 0; c < stats.at("std").size(); ++c) {
    if (stats.at("std")[c] < kSuspicious && stats.at("max")[c] - stats.at("min")[c] > 0.5) {
      findings.push_back(
          {.code = "picture_std",
           .severity = Severity::kWarning,
           .file = "meta/stats.json",
           .feature = camera,
           .found = short_number(stats.at("std")[c]),
           .message = "std of the pictures is nearly 0 although their values differ (a writer's overflow)"});
      return;
    }
  }
}

bool is_signal(const FeatureInfo& feature) {
  static constexpr std::array<std::string_view, 5> kNumbering = {"timestamp", "frame_index", "episode_index", "index",
                                                                 "task_index"};
  return !feature.is_camera() && !feature.recorded_name.starts_with("annotation.") &&
         std::find(kNumbering.begin(), kNumbering.end(), feature.name) == kNumbering.end();
}

}  // namespace

void check_stats(const Dataset& dataset, std::vector<Finding>& findings) {
  if (dataset.stats().empty()) {
    return;  // reported when the dataset was opened
  }
  std::vector<std::string> without_quantiles;
  for (const FeatureInfo& feature : dataset.info().features) {
    const auto stored = dataset.stats().find(feature.name);
    if (feature.is_camera() && stored != dataset.stats().end()) {
      check_picture_std(feature.name, stored->second, findings);
    }
    if (!is_signal(feature) || !dataset.has_column(feature.name)) {
      continue;
    }
    if (stored == dataset.stats().end()) {
      findings.push_back(
          {.code = "stats_missing",
           .severity = Severity::kWarning,
           .feature = feature.name,
           .message = "the stored statistics lack the feature; they are computed where they are needed"});
      continue;
    }
    StatsCheck check(dataset, feature.name, stored->second, findings);
    if (check.plausible(feature.size()) && dataset.is_whole() && dataset.num_frames() > 0) {
      check.compare(compute_stats(dataset, {feature.name}).at(feature.name));
    }
    if (!stored->second.has("q01") || !stored->second.has("q99")) {
      without_quantiles.push_back(feature.name);
    }
  }
  if (!without_quantiles.empty()) {
    findings.push_back(
        {.code = "no_quantiles",
         .severity = Severity::kWarning,
         .message = str_cat("no quantiles in the stored statistics of ", join_text(without_quantiles, ", "),
                            "; they are computed where they are needed")});
  }
}

}  // namespace flexor::data
