#include "curate/stats_diff.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "data/dataset_stats.h"

namespace flexor::curate {
namespace {

using Presence = FeatureDiff::Presence;

/// The larger std of a dimension, where there is one.
double std_of(const schema::FeatureStats& a, const schema::FeatureStats& b, size_t dim) {
  double std = 0;
  for (const schema::FeatureStats* stats : {&a, &b}) {
    if (stats->has("std") && dim < stats->at("std").size() && std::isfinite(stats->at("std")[dim])) {
      std = std::max(std, stats->at("std")[dim]);
    }
  }
  return std;
}

double relative(double a, double b, double scale) {
  if (a == b || (std::isnan(a) && std::isnan(b))) {
    return 0;
  }
  const double difference = std::abs(a - b);
  return std::isfinite(difference) ? difference / std::max({std::abs(a), std::abs(b), scale})
                                   : std::numeric_limits<double>::infinity();
}

FeatureDiff feature_diff(const std::string& name, const schema::FeatureStats& a, const schema::FeatureStats& b) {
  FeatureDiff diff{.feature = name};
  std::set<std::string> stats;
  for (const schema::FeatureStats* side : {&a, &b}) {
    for (const auto& [stat, values] : side->values) {
      stats.insert(stat);
    }
  }
  for (const std::string& stat : stats) {
    if (!a.has(stat) || !b.has(stat)) {
      diff.missing.push_back(str_cat(stat, ": only in ", a.has(stat) ? "A" : "B"));
      continue;
    }
    const std::vector<double>&va = a.at(stat), &vb = b.at(stat);
    if (va.size() != vb.size()) {
      diff.missing.push_back(str_cat(stat, ": ", va.size(), " values in A, ", vb.size(), " in B"));
      continue;
    }
    diff.dimensions.resize(std::max(diff.dimensions.size(), va.size()));
    for (size_t d = 0; d < va.size(); ++d) {
      const double scale = stat == "count" ? 0.0 : std_of(a, b, d);
      FeatureDiff::Value value{stat, static_cast<int64_t>(d), va[d], vb[d], relative(va[d], vb[d], scale)};
      if (diff.dimensions[d].stat.empty() || value.relative > diff.dimensions[d].relative) {
        diff.dimensions[d] = std::move(value);
      }
    }
  }
  return diff;
}

/// Adds the statistics of `json` whose names Flexor does not use: they are compared too. One that holds no numbers
/// counts as one without values.
void add_other_stats(const Json& json, schema::NormStats& stats) {
  const schema::NormStats known = schema::norm_stats_from_json(json, "");  // of which `stats` may have left some out
  for (const auto& [feature, entries] : json.as_object()) {
    for (const auto& [stat, value] : entries.as_object()) {
      if (!value.is_null() && !known.at(feature).has(stat)) {
        std::vector<double>& values = stats[feature].values[stat];
        try {
          values = value.as_numbers();
        } catch (const Error&) {
          values.clear();
        }
      }
    }
  }
}

Json to_json(const FeatureDiff::Value& value) {
  return Json::object({{"stat", value.stat},
                       {"dimension", value.dimension},
                       {"a", value.a},
                       {"b", value.b},
                       {"relative", value.relative}});
}

}  // namespace

double FeatureDiff::largest() const {
  double largest = 0;
  for (const Value& value : dimensions) {
    largest = std::max(largest, value.relative);
  }
  return largest;
}

bool FeatureDiff::differs(double tolerance) const {
  return presence != Presence::kBoth || !missing.empty() || largest() > tolerance;
}

schema::NormStats read_stats_of(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    std::vector<data::Finding> findings;
    const data::DatasetInfo info = data::read_dataset_info(path, findings);
    schema::NormStats stats = data::read_stored_stats(info, findings);
    if (const std::string file = path + "/meta/stats.json"; std::filesystem::exists(file)) {
      add_other_stats(Json::read_file(file), stats);
    }
    if (stats.empty()) {
      throw Error(ErrorKind::kData, "the dataset has no statistics", path,
                  str_cat("flexor dataset stats ", path, " --write"));
    }
    return stats;
  }
  check_input_file(path);
  const Json json = Json::read_file(path);
  const Json* inner = json.find("norm_stats");
  const Json& features = inner != nullptr ? *inner : json;
  schema::NormStats stats = schema::norm_stats_from_json(features, path);
  add_other_stats(features, stats);
  return stats;
}

std::vector<FeatureDiff> stats_diff(const schema::NormStats& a, const schema::NormStats& b) {
  std::vector<FeatureDiff> diffs;
  for (const auto& [name, stats] : a) {
    const auto other = b.find(name);
    if (other == b.end()) {
      diffs.push_back({.feature = name, .presence = Presence::kOnlyA});
    } else {
      diffs.push_back(feature_diff(name, stats, other->second));
    }
  }
  for (const auto& [name, stats] : b) {
    if (!a.contains(name)) {
      diffs.push_back({.feature = name, .presence = Presence::kOnlyB});
    }
  }
  std::ranges::sort(diffs, {}, &FeatureDiff::feature);
  return diffs;
}

Json to_json(const FeatureDiff& diff, double tolerance) {
  Json dimensions = Json::array();
  for (const FeatureDiff::Value& value : diff.dimensions) {
    dimensions.push_back(to_json(value));
  }
  return Json::object({{"feature", diff.feature},
                       {"differs", diff.differs(tolerance)},
                       {"in", diff.presence == Presence::kBoth    ? "both"
                              : diff.presence == Presence::kOnlyA ? "a"
                                                                  : "b"},
                       {"missing", Json(diff.missing)},
                       {"largest", diff.largest()},
                       {"dimensions", dimensions}});
}

}  // namespace flexor::curate
