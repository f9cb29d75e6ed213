#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "curate/rewritten_info.h"
#include "table/row_copy.h"

namespace flexor::curate {
namespace {

using table::RowColumn;

/// In every dataset, and written anew.
constexpr std::array<std::string_view, 5> kNumbering = {"timestamp", "frame_index", "episode_index", "index",
                                                        "task_index"};

RowColumn form_of(const data::FeatureInfo& feature) {
  RowColumn column{.name = feature.recorded_name};
  if (feature.dtype == "image") {
    column.form = RowColumn::Form::kImage;
  } else if (feature.dtype == "string") {
    column.form = RowColumn::Form::kText;
  } else if (feature.is_numeric() && feature.shape.size() <= 1) {
    column.form = RowColumn::Form::kNumbers;
    column.dtype = feature.dtype;
    column.width = feature.size();
  }
  return column;
}

data::FeatureInfo numbering_feature(std::string_view name) {
  data::FeatureInfo feature;
  feature.name = feature.recorded_name = name;
  feature.dtype = name == "timestamp" ? "float32" : "int64";
  feature.shape = {1};
  return feature;
}

std::string hugging_face_dtype(const std::string& dtype) {
  return dtype == "float" ? "float32" : dtype == "double" ? "float64" : dtype;
}

Json value_json(const std::string& dtype) {
  return Json::object({{"dtype", hugging_face_dtype(dtype)}, {"_type", "Value"}});
}

/// Null for a column that cannot be described.
Json describe(const TableColumn& column, TargetVersion version) {
  const data::FeatureInfo& feature = column.feature;
  switch (column.form.form) {
    case RowColumn::Form::kImage:
      return Json::object({{"_type", "Image"}});
    case RowColumn::Form::kText:
      return value_json("string");
    case RowColumn::Form::kNumbers:
      return column.form.width == 1 ? value_json(feature.dtype)
                                    : Json::object({{"feature", value_json(feature.dtype)},
                                                    {"length", column.form.width},
                                                    {"_type", version == TargetVersion::kV30 ? "List" : "Sequence"}});
    default:
      break;
  }
  constexpr size_t kMaxDims = 5;
  if (feature.is_numeric() && feature.shape.size() >= 2 && feature.shape.size() <= kMaxDims) {
    return Json::object({{"shape", Json(feature.shape)},
                         {"dtype", hugging_face_dtype(feature.dtype)},
                         {"_type", "Array" + std::to_string(feature.shape.size()) + "D"}});
  }
  return {};
}

}  // namespace

std::vector<TableColumn> table_columns(const RewritePlan& plan) {
  std::vector<std::string> in_file = table::RowReader(plan.episode(0).data_file).columns();
  const auto is_in_file = [&](std::string_view name) {
    return std::find(in_file.begin(), in_file.end(), name) != in_file.end();
  };
  const auto is_numbering = [](std::string_view name) {
    return std::find(kNumbering.begin(), kNumbering.end(), name) != kNumbering.end();
  };
  std::vector<TableColumn> columns;
  for (const data::FeatureInfo& feature : plan.model().info.features) {
    if (feature.dtype != "video" && (is_in_file(feature.recorded_name) || is_numbering(feature.recorded_name))) {
      columns.push_back({form_of(feature), feature});
    }
  }
  for (const std::string_view name : kNumbering) {
    if (std::none_of(columns.begin(), columns.end(), [&](const TableColumn& c) { return c.form.name == name; })) {
      const data::FeatureInfo feature = numbering_feature(name);
      columns.push_back({form_of(feature), feature});
    }
  }
  return columns;
}

std::map<std::string, std::string> table_metadata(const std::vector<TableColumn>& columns, TargetVersion version) {
  Json features = Json::object();
  for (const TableColumn& column : columns) {
    Json description = describe(column, version);
    if (description.is_null()) {
      return {};
    }
    features[column.form.name] = std::move(description);
  }
  const Json info = Json::object({{"info", Json::object({{"features", std::move(features)}})}});
  return {{"huggingface", info.dump()}};
}

}  // namespace flexor::curate
