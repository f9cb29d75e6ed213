#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "curate/rewritten_info.h"
#include "schema/norm_stats.h"

namespace flexor::curate {

/// Statistics as LeRobot writes them: min and max of bool and integer features keep their type, features in the order
/// of info.json, then what is no feature.
Json stats_json(const schema::NormStats& stats, const std::vector<data::FeatureInfo>& features);

/// Kind of the values of one statistic of a feature.
enum class StatKind { kFloat, kInt, kBool };
StatKind stat_kind(const data::FeatureInfo* feature, std::string_view stat);

}  // namespace flexor::curate
