#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "curate/rewritten_info.h"
#include "schema/norm_stats.h"

namespace flexor::curate {

/// Statistics in the order in which LeRobot writes them.
inline constexpr std::array<std::string_view, 10> kStatNames = {"min", "max", "mean", "std", "count",
                                                                "q01", "q10", "q50",  "q90", "q99"};

/// Statistics as LeRobot writes them: min and max of bool and integer features keep their type, features in the order
/// of info.json, then what is no feature.
Json stats_json(const schema::NormStats& stats, const std::vector<data::FeatureInfo>& features);

/// Kind of the values of one statistic of a feature.
enum class StatKind { kFloat, kInt, kBool };
StatKind stat_kind(const data::FeatureInfo* feature, std::string_view stat);

}  // namespace flexor::curate
