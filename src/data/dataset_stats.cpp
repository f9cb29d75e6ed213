#include "data/dataset_stats.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
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

/// Mean over the parts, weighted by their counts.
std::vector<double> weighted_mean(const std::vector<const std::vector<double>*>& parts,
                                  const std::vector<double>& counts) {
  double total = 0;
  std::vector<double> mean(parts[0]->size());
  for (size_t i = 0; i < parts.size(); ++i) {
    total += counts[i];
    for (size_t d = 0; d < mean.size(); ++d) {
      mean[d] += counts[i] * (*parts[i])[d];
    }
  }
  for (double& value : mean) {
    value /= total;
  }
  return mean;
}

std::vector<double> merged_std(const std::vector<const std::vector<double>*>& means,
                               const std::vector<const std::vector<double>*>& stds, const std::vector<double>& counts,
                               const std::vector<double>& mean) {
  std::vector<double> variance(mean.size());
  double total = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    for (size_t d = 0; d < mean.size(); ++d) {
      const double shift = (*means[i])[d] - mean[d], std = (*stds[i])[d];
      variance[d] += counts[i] * (std * std + shift * shift);
    }
  }
  for (double& value : variance) {
    value = std::sqrt(value / total);
  }
  return variance;
}

FeatureStats aggregate_feature(const std::string& name, const std::vector<const FeatureStats*>& parts,
                               QuantileMerge merge) {
  const auto smaller = [](double a, double b) { return std::min(a, b); };
  const auto larger = [](double a, double b) { return std::max(a, b); };
  const auto means = collect(parts, "mean", name), stds = collect(parts, "std", name);
  std::vector<double> counts, mean;
  for (const FeatureStats* part : parts) {
    counts.push_back(frame_count(*part, name));
  }
  mean = weighted_mean(means, counts);
  FeatureStats result;
  result.shape = parts[0]->shape;
  result.values["min"] = reduce(collect(parts, "min", name), smaller);
  result.values["max"] = reduce(collect(parts, "max", name), larger);
  result.values["std"] = merged_std(means, stds, counts, mean);
  result.values["mean"] = std::move(mean);
  result.values["count"] = {std::accumulate(counts.begin(), counts.end(), 0.0)};
  for (const auto& [stat, q] : kQuantiles) {
    const auto has = [&stat = stat](const FeatureStats* part) { return part->has(stat); };
    if (std::all_of(parts.begin(), parts.end(), has)) {
      const auto values = collect(parts, stat, name);
      result.values[std::string(stat)] = merge == QuantileMerge::kWeightedMean ? weighted_mean(values, counts)
                                         : q <= 0.5                            ? reduce(values, smaller)
                                                                               : reduce(values, larger);
    }
  }
  return result;
}

/// Block by block: the statistics of many episodes do not fit into memory.
NormStats read_episode_stats(const std::string& path) {
  constexpr size_t kBlock = 512;
  std::vector<NormStats> parts;
  const auto merge = [&] {
    try {
      parts = {aggregate_stats(parts)};
    } catch (const Error& error) {
      throw Error(error.kind(), error.what(), path, "delete the file to have the statistics computed");
    }
  };
  for_each_json_line(path, [&](const JsonLine& line) {
    const std::string where = str_cat(path, ":", line.line);
    const Json* number = line.json.find("episode_index");
    const Json* stats = line.json.find("stats");
    if (!number || !number->is_number() || !stats || !stats->is_object()) {
      throw Error(ErrorKind::kData, "expected {\"episode_index\": number, \"stats\": object}", where,
                  "correct the line, or remove the file: the statistics are then computed");
    }
    parts.push_back(schema::norm_stats_from_json(*stats, where));
    if (parts.size() == kBlock) {
      merge();
    }
  });
  merge();
  return std::move(parts[0]);
}

/// Not of pictures, which may be sampled.
bool is_of_other_frames(const FeatureStats& stats, const FeatureStats& other) {
  return stats.shape.size() == 1 && stats.has("count") && other.has("count") && stats.at("count") != other.at("count");
}

/// Statistics of the whole dataset go before those put together from its episodes: their quantiles are quantiles.
void overlay(NormStats whole, const std::string& file, NormStats& stats, std::vector<Finding>& findings) {
  for (auto& [name, feature] : whole) {
    const auto found = stats.find(name);
    if (found == stats.end() || !is_of_other_frames(feature, found->second)) {
      stats.insert_or_assign(name, std::move(feature));
      continue;
    }
    findings.push_back({.code = "stats_outdated",
                        .severity = Severity::kWarning,
                        .file = file,
                        .feature = name,
                        .expected = str_cat(found->second.at("count")[0]),
                        .found = str_cat(feature.at("count")[0]),
                        .message = "frames that the statistics were made of; those of the episodes are used",
                        .hint = "flexor dataset stats DIR --write --force"});
  }
}

}  // namespace

NormStats aggregate_stats(const std::vector<NormStats>& parts, QuantileMerge quantiles) {
  std::map<std::string, std::vector<const FeatureStats*>> by_name;
  for (const NormStats& part : parts) {
    for (const auto& [name, stats] : part) {
      by_name[name].push_back(&stats);
    }
  }
  NormStats result;
  for (const auto& [name, stats] : by_name) {
    result[name] = aggregate_feature(name, stats, quantiles);
  }
  return result;
}

NormStats read_stored_stats(const DatasetInfo& info, std::vector<Finding>& findings) {
  const std::string all = "meta/stats.json", per_episode = "meta/episodes_stats.jsonl";
  const bool is_v21 = info.major == 2 && info.minor == 1;
  const std::string path = info.root + "/" + all;
  NormStats stats;
  if (is_v21 && std::filesystem::exists(info.root + "/" + per_episode)) {
    stats = read_episode_stats(info.root + "/" + per_episode);
    if (!std::filesystem::exists(path)) {
      return stats;
    }
  } else if (!std::filesystem::exists(path)) {
    report_missing(is_v21 ? per_episode : all, findings);
    return {};
  }
  check_input_file(path);
  overlay(schema::norm_stats_from_json(Json::read_file(path), path), all, stats, findings);
  return stats;
}

}  // namespace flexor::data
