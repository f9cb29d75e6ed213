#include "data/dataset_stats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "data/jsonl.h"

namespace flexor::data {
namespace {

using schema::FeatureStats;
using schema::NormStats;

void report_missing(const std::string& file, std::vector<Finding>& findings) {
  findings.push_back({.code = "stats_missing",
                      .severity = Severity::kWarning,
                      .file = file,
                      .message = "the dataset has no statistics; they are computed where they are needed"});
}

double frame_count(const FeatureStats& stats, const std::string& name) {
  const auto found = stats.values.find("count");
  if (found == stats.values.end() || found->second.size() != 1 || !(found->second[0] > 0)) {
    throw Error(ErrorKind::kData, str_cat("statistics of ", name, " have no count, they cannot be merged"));
  }
  return found->second[0];
}

/// Values of one statistic in every part. @throws Error(kData) if a part lacks it or has another size
std::vector<const std::vector<double>*> collect(const std::vector<const FeatureStats*>& parts, std::string_view stat,
                                                const std::string& name) {
  std::vector<const std::vector<double>*> result;
  for (const FeatureStats* part : parts) {
    result.push_back(&part->at(stat));
    if (result.back()->size() != result[0]->size()) {
      throw Error(ErrorKind::kData, str_cat("statistics of ", name, ": ", stat, " has ", result.back()->size(),
                                            " values, in other parts ", result[0]->size()));
    }
  }
  return result;
}

template <typename Pick>
std::vector<double> reduce(const std::vector<const std::vector<double>*>& parts, const Pick& pick) {
  std::vector<double> result = *parts[0];
  for (const auto* part : parts) {
    for (size_t d = 0; d < result.size(); ++d) {
      result[d] = pick(result[d], (*part)[d]);
    }
  }
  return result;
}

FeatureStats aggregate_feature(const std::string& name, const std::vector<const FeatureStats*>& parts) {
  const auto smaller = [](double a, double b) { return std::min(a, b); };
  const auto larger = [](double a, double b) { return std::max(a, b); };
  const auto means = collect(parts, "mean", name), stds = collect(parts, "std", name);
  const size_t size = means[0]->size();
  double total = 0;
  std::vector<double> mean(size), variance(size);
  for (size_t i = 0; i < parts.size(); ++i) {
    const double count = frame_count(*parts[i], name);
    total += count;
    for (size_t d = 0; d < size; ++d) {
      mean[d] += count * (*means[i])[d];
    }
  }
  for (double& value : mean) {
    value /= total;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t d = 0; d < size; ++d) {
      const double shift = (*means[i])[d] - mean[d], std = (*stds[i])[d];
      variance[d] += frame_count(*parts[i], name) * (std * std + shift * shift);
    }
  }
  for (double& value : variance) {
    value = std::sqrt(value / total);
  }
  FeatureStats result;
  result.shape = parts[0]->shape;
  result.values["min"] = reduce(collect(parts, "min", name), smaller);
  result.values["max"] = reduce(collect(parts, "max", name), larger);
  result.values["mean"] = std::move(mean);
  result.values["std"] = std::move(variance);
  result.values["count"] = {total};
  for (const auto& [stat, q] : kQuantiles) {
    const auto has = [&stat = stat](const FeatureStats* part) { return part->has(stat); };
    if (std::all_of(parts.begin(), parts.end(), has)) {
      const auto values = collect(parts, stat, name);
      result.values[std::string(stat)] = q <= 0.5 ? reduce(values, smaller) : reduce(values, larger);
    }
  }
  return result;
}

NormStats read_episode_stats(const std::string& path) {
  std::vector<std::pair<int64_t, NormStats>> episodes;
  for (const JsonLine& line : read_jsonl(path)) {
    const std::string where = str_cat(path, ":", line.line);
    const Json* number = line.json.find("episode_index");
    const Json* stats = line.json.find("stats");
    if (!number || !number->is_number() || !stats || !stats->is_object()) {
      throw Error(ErrorKind::kData, "expected {\"episode_index\": number, \"stats\": object}", where,
                  "correct the line, or remove the file: the statistics are then computed");
    }
    episodes.emplace_back(number->as_int(), schema::norm_stats_from_json(*stats, where));
  }
  std::sort(episodes.begin(), episodes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<NormStats> parts;
  for (auto& episode : episodes) {
    parts.push_back(std::move(episode.second));
  }
  try {
    return aggregate_stats(parts);
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), path, "delete the file to have the statistics computed");
  }
}

}  // namespace

NormStats aggregate_stats(const std::vector<NormStats>& parts) {
  std::map<std::string, std::vector<const FeatureStats*>> by_name;
  for (const NormStats& part : parts) {
    for (const auto& [name, stats] : part) {
      by_name[name].push_back(&stats);
    }
  }
  NormStats result;
  for (const auto& [name, stats] : by_name) {
    result[name] = aggregate_feature(name, stats);
  }
  return result;
}

NormStats read_stored_stats(const DatasetInfo& info, std::vector<Finding>& findings) {
  const std::string all = "meta/stats.json", per_episode = "meta/episodes_stats.jsonl";
  const bool is_v21 = info.major == 2 && info.minor == 1;
  if (is_v21 && std::filesystem::exists(info.root + "/" + per_episode)) {
    return read_episode_stats(info.root + "/" + per_episode);
  }
  const std::string path = info.root + "/" + all;
  if (!std::filesystem::exists(path)) {
    report_missing(is_v21 ? per_episode : all, findings);
    return {};
  }
  check_input_file(path);
  return schema::norm_stats_from_json(Json::read_file(path), path);
}

}  // namespace flexor::data
