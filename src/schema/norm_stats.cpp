#include "schema/norm_stats.h"

#include <array>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::schema {
namespace {

/// In the order in which LeRobot writes them.
constexpr std::array<std::string_view, 10> kStatNames = {"min", "max", "mean", "std", "count",
                                                         "q01", "q10", "q50",  "q90", "q99"};
constexpr std::string_view kCount = "count";
constexpr const char* kMadeAgain = "have them made again: flexor dataset stats DIR --write --force";

/// [3, 1, 1] of a nested list; of a plain number [1]. Every list of one level must have the same size.
std::vector<int64_t> shape_of(const Json& value) {
  std::vector<int64_t> shape;
  const Json* level = &value;
  while (level->is_array()) {
    shape.push_back(static_cast<int64_t>(level->size()));
    if (level->size() == 0) {
      break;
    }
    level = &level->as_array()[0];
  }
  return shape.empty() ? std::vector<int64_t>{1} : shape;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> parts;
  parts.reserve(shape.size());
  for (const int64_t size : shape) {
    parts.push_back(std::to_string(size));
  }
  return "[" + join_text(parts, ", ") + "]";
}

FeatureStats feature_from_json(const Json& json, const std::string& feature, const std::string& where) {
  FeatureStats stats;
  for (const std::string_view name : kStatNames) {
    const Json* value = json.find(name);
    if (value == nullptr || value->is_null()) {
      continue;
    }
    const std::string place = str_cat(where, ", ", feature, ".", name);
    std::vector<double> numbers;
    try {
      numbers = value->as_numbers();
    } catch (const Error& error) {
      throw Error(ErrorKind::kData, error.what(), place, kMadeAgain);
    }
    const std::vector<int64_t> shape = shape_of(*value);
    const int64_t size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    if (size != static_cast<int64_t>(numbers.size())) {
      throw Error(ErrorKind::kData, str_cat("a ragged list: ", numbers.size(), " numbers in shape ", shape_text(shape)),
                  place, kMadeAgain);
    }
    if (name == kCount) {
      if (numbers.size() != 1) {
        throw Error(ErrorKind::kData, str_cat("expected one number, found ", numbers.size()), place, kMadeAgain);
      }
    } else if (stats.shape.empty()) {
      stats.shape = shape;
    } else if (stats.shape != shape) {
      throw Error(
          ErrorKind::kData,
          str_cat("shape ", shape_text(shape), " differs from ", shape_text(stats.shape), " of the statistics before"),
          place, kMadeAgain);
    }
    stats.values.emplace(name, std::move(numbers));
  }
  return stats;
}

/// Numbers from `next` on, nested by shape.
Json nest(const std::vector<double>& values, const std::vector<int64_t>& shape, size_t level, size_t& next) {
  if (level == shape.size()) {
    return Json(values[next++]);
  }
  Json list = Json::array();
  for (int64_t i = 0; i < shape[level]; ++i) {
    list.push_back(nest(values, shape, level + 1, next));
  }
  return list;
}

}  // namespace

const std::vector<double>& FeatureStats::at(std::string_view stat) const {
  const auto found = values.find(stat);
  if (found == values.end()) {
    std::vector<std::string> names;
    names.reserve(values.size());
    for (const auto& [name, numbers] : values) {
      names.push_back(name);
    }
    throw Error(ErrorKind::kData, str_cat("the statistic '", stat, "' is missing, there is ",
                                          names.empty() ? "none" : join_text(names, ", ")));
  }
  return found->second;
}

NormStats norm_stats_from_json(const Json& json, const std::string& where) {
  if (!json.is_object()) {
    throw Error(ErrorKind::kData, str_cat("expected an object of features, found ", json.type_name()), where,
                kMadeAgain);
  }
  NormStats stats;
  for (const auto& [feature, value] : json.as_object()) {
    if (!value.is_object()) {
      throw Error(ErrorKind::kData, str_cat("expected an object of statistics, found ", value.type_name()),
                  str_cat(where, ", ", feature), kMadeAgain);
    }
    stats.insert_or_assign(feature, feature_from_json(value, feature, where));
  }
  return stats;
}

Json to_json(const NormStats& stats) {
  Json::Object features;
  for (const auto& [feature, of_feature] : stats) {
    Json entry = Json::object();
    for (const std::string_view name : kStatNames) {
      const auto found = of_feature.values.find(name);
      if (found == of_feature.values.end()) {
        continue;
      }
      if (name == kCount) {
        entry[name] = Json(Json::Array{Json(static_cast<int64_t>(found->second.at(0)))});
      } else {
        size_t next = 0;
        entry[name] = nest(found->second, of_feature.shape, 0, next);
      }
    }
    features.emplace_back(feature, std::move(entry));
  }
  return Json(std::move(features));
}

}  // namespace flexor::schema
