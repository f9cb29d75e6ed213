#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace flexor::schema {

/// Statistics of one feature: statistic name -> values. Names: min, max, mean, std, count, q01, q10, q50, q90, q99.
struct FeatureStats {
  std::map<std::string, std::vector<double>, std::less<>> values;  ///< row-major; `count` has one entry
  std::vector<int64_t> shape;                                      ///< of every statistic but count: [D] or [3, 1, 1]

  bool has(std::string_view stat) const { return values.find(stat) != values.end(); }
  /// @throws Error(kData) if absent
  const std::vector<double>& at(std::string_view stat) const;
};

/// Feature name -> statistics, as in meta/stats.json.
using NormStats = std::map<std::string, FeatureStats, std::less<>>;

/// From the object of meta/stats.json (lists, nested lists, plain numbers or booleans).
NormStats norm_stats_from_json(const Json& json, const std::string& where);
Json to_json(const NormStats& stats);

}  // namespace flexor::schema
