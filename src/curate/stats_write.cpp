#include "curate/stats_write.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "data/dataset_stats.h"
#include "data/jsonl.h"

namespace flexor::curate {
namespace {

constexpr std::array<std::string_view, 5> kBasic = {"min", "max", "mean", "std", "count"};

bool is_v21(const StatsSource& source) {
  return source.info.major == 2 && source.info.minor == 1;
}

std::string all_path(const StatsSource& source) {
  return source.info.root + "/meta/stats.json";
}
std::string episodes_path(const StatsSource& source) {
  return source.info.root + "/meta/episodes_stats.jsonl";
}

bool has_basic(const schema::FeatureStats& stats) {
  return std::ranges::all_of(kBasic, [&](std::string_view name) { return stats.has(name); });
}

bool has_all(const schema::FeatureStats& stats) {
  return has_basic(stats) &&
         std::ranges::all_of(data::kQuantiles, [&](const auto& quantile) { return stats.has(quantile.first); });
}

/// Calls body(episode_index, the line's object) for the statistics beside the episodes. None when there is no file.
void for_each_line(const std::string& path, const std::function<void(int64_t, const Json&)>& body) {
  if (!std::filesystem::exists(path)) {
    return;
  }
  data::for_each_json_line(path, [&](const data::JsonLine& line) {
    const Json* number = line.json.find("episode_index");
    const Json* stats = line.json.find("stats");
    if (number == nullptr || !number->is_number() || stats == nullptr || !stats->is_object()) {
      throw Error(ErrorKind::kData, "expected {\"episode_index\": number, \"stats\": object}",
                  str_cat(path, ":", line.line), "remove the file, then it is written anew");
    }
    body(number->as_int(), line.json);
  });
}

bool has_basic(const Json& stats, const data::FeatureInfo& feature) {
  const Json* of_feature = stats.find(feature.recorded_name);
  return of_feature != nullptr && std::ranges::all_of(kBasic, [&](std::string_view name) {
           const Json* value = of_feature->find(name);
           return value != nullptr && !value->is_null();
         });
}

bool episodes_complete(const StatsSource& source, const std::vector<const data::FeatureInfo*>& features) {
  std::set<int64_t> complete;
  for_each_line(episodes_path(source), [&](int64_t episode, const Json& line) {
    if (std::ranges::all_of(features, [&](const auto* feature) { return has_basic(line.at("stats"), *feature); })) {
      complete.insert(episode);
    }
  });
  return std::ranges::all_of(
      source.records, [&](const data::EpisodeRecord& record) { return complete.contains(record.episode_index); });
}

/// The object's entries of these features are replaced or added.
void merge_into(Json& object, const schema::NormStats& stats) {
  const Json entries = schema::to_json(stats);
  for (const auto& [name, entry] : entries.as_object()) {
    object[name] = entry;
  }
}

void write_all(const StatsSource& source, const schema::NormStats& stats) {
  Json object = Json::object();
  if (std::filesystem::exists(all_path(source))) {
    check_input_file(all_path(source));
    object = Json::read_file(all_path(source));
    if (!object.is_object()) {
      throw Error(ErrorKind::kData, str_cat("expected an object of features, found ", object.type_name()),
                  all_path(source), "remove the file, then it is written anew");
    }
  }
  merge_into(object, stats);
  write_file_atomic(all_path(source), object.dump(4) + "\n");
}

/// Lines that are there keep their place and what else they hold; those of other episodes follow.
void write_episodes(const StatsSource& source, const std::vector<schema::NormStats>& episodes) {
  std::map<int64_t, const schema::NormStats*> left;
  for (size_t i = 0; i < episodes.size(); ++i) {
    left[source.records[i].episode_index] = &episodes[i];
  }
  AtomicFile file(episodes_path(source));
  const auto write = [&](Json line, const schema::NormStats& stats) {
    merge_into(*line.find("stats"), stats);
    file.write(line.dump() + "\n");
  };
  for_each_line(episodes_path(source), [&](int64_t episode, const Json& line) {
    if (const auto found = left.extract(episode)) {
      write(line, *found.mapped());
    }
  });
  for (const auto& [episode, stats] : left) {
    write(Json::object({{"episode_index", episode}, {"stats", Json::object()}}), *stats);
  }
  file.commit();
}

}  // namespace

bool is_impossible_picture_std(const schema::FeatureStats& stats) {
  if (!stats.has("std") || !stats.has("min") || !stats.has("max")) {
    return false;
  }
  for (size_t c = 0; c < stats.at("std").size(); ++c) {
    const double std = stats.at("std")[c];
    // A tenth of the values lies at or below q10 and a tenth at or above q90: std >= sqrt(0.05) (q90 - q10).
    constexpr double kAtLeast = 0.2236;
    const bool has_quantiles = stats.has("q10") && stats.has("q90");
    const double least = has_quantiles ? 0.5 * kAtLeast * (stats.at("q90")[c] - stats.at("q10")[c]) : 0.0;
    if (std < least || (std == 0 && stats.at("max")[c] > stats.at("min")[c])) {
      return true;
    }
  }
  return false;
}

StoredStatsState stored_stats_state(const StatsSource& source, const std::vector<const data::FeatureInfo*>& features) {
  std::vector<data::Finding> findings;
  const schema::NormStats stored = data::read_stored_stats(source.info, findings);
  StoredStatsState state;
  for (const data::FeatureInfo* feature : features) {
    const auto found = stored.find(feature->recorded_name);
    if (found == stored.end() || !has_all(found->second) ||
        (feature->is_camera() && is_impossible_picture_std(found->second))) {
      state.incomplete.push_back(feature);
    }
  }
  state.needs_episodes = is_v21(source) && !episodes_complete(source, features);
  return state;
}

void check_stats_writable(const StatsSource& source) {
  check_writable_folder(source.info.root + "/meta");
}

std::vector<std::string> write_stats(const StatsSource& source, const DatasetStats& stats) {
  std::vector<std::string> files;
  if (is_v21(source) && !stats.episodes.empty()) {
    write_episodes(source, stats.episodes);
    files.emplace_back("meta/episodes_stats.jsonl");
  }
  write_all(source, stats.all);
  files.emplace_back("meta/stats.json");
  return files;
}

}  // namespace flexor::curate
