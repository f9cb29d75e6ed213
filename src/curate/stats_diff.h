#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "schema/norm_stats.h"

namespace flexor::curate {

/// Where two statistics of one feature differ.
struct FeatureDiff {
  enum class Presence { kBoth, kOnlyA, kOnlyB };
  struct Value {
    std::string stat;
    int64_t dimension = 0;
    double a = 0, b = 0;
    double relative = 0;  ///< |a - b| by the largest of |a|, |b| and the dimension's std
  };
  std::string feature;
  Presence presence = Presence::kBoth;
  std::vector<std::string> missing = {};  ///< statistics that only one side has, or of other sizes: "q01: only in A"
  std::vector<Value> dimensions = {};     ///< of each dimension its largest difference; empty when sizes differ

  double largest() const;  ///< of `dimensions`
  bool differs(double tolerance) const;
};

/// Statistics of a dataset folder (as stored), of a stats.json or of openpi's norm_stats.json.
/// With the statistics whose names Flexor does not use, as they are in the file.
/// @throws Error(kFile), Error(kData)
schema::NormStats read_stats_of(const std::string& path);

/// One entry for every feature of either side, sorted by name. `count` is compared like a value of dimension 0.
std::vector<FeatureDiff> stats_diff(const schema::NormStats& a, const schema::NormStats& b);

Json to_json(const FeatureDiff& diff, double tolerance);

}  // namespace flexor::curate
