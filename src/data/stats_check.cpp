#include "data/stats_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "data/jsonl.h"

namespace flexor::data {
namespace {

using schema::FeatureStats;
using schema::NormStats;

/// Where statistics are stored.
struct StoredPlace {
  std::string file;
  std::optional<int64_t> episode;
};

constexpr double kRelativeTolerance = 1e-3;
constexpr std::array<std::string_view, 7> kAscending = {"min", "q01", "q10", "q50", "q90", "q99", "max"};

class StatsCheck {
 public:
  StatsCheck(const StoredPlace& place, const std::string& feature, const FeatureStats& stored,
             std::vector<Finding>& findings)
      : place_(place), feature_(feature), stored_(stored), findings_(findings) {}

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

  /// Stored and recomputed values.
  void compare(const FeatureStats& actual) {
    const double rows = actual.at("count")[0];
    if (stored_.has("count") && stored_.at("count").size() == 1 && stored_.at("count")[0] != rows) {
      add(Severity::kWarning, "stats_count", short_number(rows, 12), short_number(stored_.at("count")[0], 12),
          "count in the stored statistics");
    }
    const std::vector<double>&low = actual.at("min"), &high = actual.at("max");
    for (const auto* stat : {"min", "max", "mean", "std"}) {
      if (!stored_.has(stat)) {
        continue;
      }
      const std::vector<double>&said = stored_.at(stat), &is = actual.at(stat);
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
    add(Severity::kError, code, expected, found, message, hint);
  }

  void add(Severity severity, const std::string& code, const std::string& expected, const std::string& found,
           const std::string& message, const std::string& hint = {}) {
    findings_.push_back({.code = code,
                         .severity = severity,
                         .file = place_.file,
                         .episode = place_.episode,
                         .feature = feature_,
                         .expected = expected,
                         .found = found,
                         .message = message,
                         .hint = hint});
  }

  const StoredPlace& place_;
  const std::string& feature_;
  const FeatureStats& stored_;
  std::vector<Finding>& findings_;
};

/// Writers before LeRobot 0.6 let the squares of uint8 pixels overflow.
void check_picture_std(const std::string& file, const std::string& camera, const FeatureStats& stats,
                       std::vector<Finding>& findings) {
  if (!stats.has("std") || !stats.has("min") || !stats.has("max") || stats.at("std").size() != stats.at("min").size()) {
    return;
  }
  constexpr double kSuspicious = 0.01;
  for (size_t c = 0; c < stats.at("std").size(); ++c) {
    if (stats.at("std")[c] < kSuspicious && stats.at("max")[c] - stats.at("min")[c] > 0.5) {
      findings.push_back(
          {.code = "picture_std",
           .severity = Severity::kWarning,
           .file = file,
           .feature = camera,
           .found = short_number(stats.at("std")[c]),
           .message = "std of the pictures is nearly 0 although their values differ (a writer's overflow)"});
      return;
    }
  }
}

const char* const kPerEpisode = "meta/episodes_stats.jsonl";

bool is_per_episode(const DatasetInfo& info) {
  return info.major == 2 && info.minor == 1;
}

const ColumnSummary* find_summary(const Summaries& summaries, const std::string& feature) {
  const auto found = summaries.find(feature);
  return found == summaries.end() || found->second.first_bad() || found->second.count() == 0 ? nullptr : &found->second;
}

/// One line of episodes_stats.jsonl against the rows of its episode.
void check_line(const DatasetInfo& info, const JsonLine& line, const EpisodeSummaries& episodes,
                std::set<int64_t>& seen, std::vector<Finding>& findings) {
  const Json* number = line.json.find("episode_index");
  const Json* json = line.json.find("stats");
  if (!number || !number->is_number() || !json || !json->is_object()) {
    throw Error(ErrorKind::kData, "expected {\"episode_index\": number, \"stats\": object}", "",
                "correct the line, or remove the file: the statistics are then computed");
  }
  const StoredPlace place{kPerEpisode, number->as_int()};
  seen.insert(*place.episode);
  const NormStats stats = schema::norm_stats_from_json(*json, "");
  const auto rows = episodes.find(*place.episode);
  for (const FeatureInfo& feature : info.features) {
    const auto stored = stats.find(feature.recorded_name);
    if (!is_signal(feature) || stored == stats.end()) {
      continue;
    }
    StatsCheck check(place, feature.recorded_name, stored->second, findings);
    const ColumnSummary* actual = rows == episodes.end() ? nullptr : find_summary(rows->second, feature.name);
    if (check.plausible(feature.size()) && actual != nullptr) {
      check.compare(actual->stats());
    }
  }
}

}  // namespace

void check_stored_stats(const DatasetInfo& info, const NormStats& stored, const Summaries& actual,
                        std::vector<Finding>& findings) {
  const StoredPlace place{is_per_episode(info) ? kPerEpisode : "meta/stats.json", std::nullopt};
  std::vector<std::string> without_quantiles;
  for (const FeatureInfo& feature : info.features) {
    const auto stats = stored.find(feature.name);
    if (feature.is_camera() && stats != stored.end()) {
      check_picture_std(place.file, feature.recorded_name, stats->second, findings);
    }
    if (!is_signal(feature)) {
      continue;
    }
    if (stats == stored.end()) {
      findings.push_back(
          {.code = "stats_missing",
           .severity = Severity::kWarning,
           .file = place.file,
           .feature = feature.recorded_name,
           .message = "the stored statistics lack the feature; they are computed where they are needed"});
      continue;
    }
    StatsCheck check(place, feature.recorded_name, stats->second, findings);
    const ColumnSummary* summary = find_summary(actual, feature.name);
    if (check.plausible(feature.size()) && summary != nullptr) {
      check.compare(summary->stats());
    }
    const bool is_float = feature.dtype.starts_with("float") || feature.dtype == "double";
    if (is_float && !(stats->second.has("q01") && stats->second.has("q99"))) {
      without_quantiles.push_back(feature.recorded_name);
    }
  }
  if (!without_quantiles.empty()) {
    findings.push_back(
        {.code = "no_quantiles",
         .severity = Severity::kWarning,
         .file = place.file,
         .message = str_cat("no quantiles in the stored statistics of ", join_text(without_quantiles, ", "),
                            "; they are computed where they are needed")});
  }
}

void check_episode_stats(const DatasetInfo& info, const EpisodeSummaries& episodes, std::vector<Finding>& findings) {
  if (!is_per_episode(info)) {
    return;
  }
  std::set<int64_t> seen;
  const std::string path = info.root + "/" + kPerEpisode;
  std::error_code code;
  if (!std::filesystem::exists(path, code)) {
    return;  // reported by whoever reads it
  }
  attempt("stats_unreadable", info.root, &findings, [&] {
    for_each_json_line(
        path, [&](const JsonLine& line) { check_line(info, line, episodes, seen, findings); },
        [&](const Error& error) { findings.push_back(finding_of(error, "stats_unreadable", info.root)); });
  });
  std::vector<std::string> missing;
  for (const auto& [episode, summaries] : episodes) {
    if (!seen.contains(episode)) {
      missing.push_back(str_cat(episode));
    }
  }
  if (!missing.empty() && !seen.empty()) {
    findings.push_back(
        {.code = "stats_missing",
         .severity = Severity::kWarning,
         .file = kPerEpisode,
         .message = str_cat("no statistics of ", missing.size(), " episodes, the first is ", missing[0])});
  }
}

}  // namespace flexor::data
