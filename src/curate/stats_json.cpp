#include "curate/stats_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace flexor::curate {
namespace {

Json number(double value, StatKind kind) {
  switch (kind) {
    case StatKind::kBool:
      return Json(value != 0);
    case StatKind::kInt:
      return Json(static_cast<int64_t>(value));
    default:
      return Json(value);
  }
}

Json nest(const std::vector<double>& values, const std::vector<int64_t>& shape, size_t level, size_t& next,
          StatKind kind) {
  if (level == shape.size()) {
    return number(values.at(next++), kind);
  }
  Json list = Json::array();
  for (int64_t i = 0; i < shape[level]; ++i) {
    list.push_back(nest(values, shape, level + 1, next, kind));
  }
  return list;
}

Json feature_json(const schema::FeatureStats& stats, const data::FeatureInfo* feature) {
  Json json = Json::object();
  for (const std::string_view name : kStatNames) {
    const auto found = stats.values.find(name);
    if (found != stats.values.end()) {
      size_t next = 0;
      const std::vector<int64_t> shape = name == "count" ? std::vector<int64_t>{1} : stats.shape;
      json[name] = nest(found->second, shape, 0, next, stat_kind(feature, name));
    }
  }
  return json;
}

}  // namespace

StatKind stat_kind(const data::FeatureInfo* feature, std::string_view stat) {
  if (stat == "count") {
    return StatKind::kInt;
  }
  if (!feature || !feature->is_numeric() || (stat != "min" && stat != "max")) {
    return StatKind::kFloat;
  }
  return feature->dtype == "bool"                          ? StatKind::kBool
         : feature->dtype.find("int") != std::string::npos ? StatKind::kInt
                                                           : StatKind::kFloat;
}

Json stats_json(const schema::NormStats& stats, const std::vector<data::FeatureInfo>& features) {
  Json json = Json::object();
  std::set<std::string_view> written;
  for (const data::FeatureInfo& feature : features) {
    if (const auto found = stats.find(feature.recorded_name); found != stats.end()) {
      json[feature.recorded_name] = feature_json(found->second, &feature);
      written.insert(feature.recorded_name);
    }
  }
  for (const auto& [name, of_feature] : stats) {
    if (!written.contains(name)) {
      json[name] = feature_json(of_feature, nullptr);
    }
  }
  return json;
}

}  // namespace flexor::curate
