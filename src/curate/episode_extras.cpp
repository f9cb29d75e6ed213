#include "curate/episode_extras.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/log.h"
#include "base/str_cat.h"
#include "curate/meta_files.h"
#include "data/jsonl.h"
#include "table/row_copy.h"

namespace flexor::curate {
namespace {

using data::EpisodeRecord;
constexpr std::array<std::string_view, 3> kLineKeys = {"episode_index", "tasks", "length"};
constexpr std::array<std::string_view, 5> kColumns = {"episode_index", "tasks", "length", "dataset_from_index",
                                                      "dataset_to_index"};
constexpr std::array<std::string_view, 4> kPrefixes = {"data/", "videos/", "stats/", "meta/episodes/"};

using Extras = std::unordered_map<int64_t, Json>;  ///< by episode_index

Extras read_lines(const std::string& path) {
  Extras extras;
  data::for_each_json_line(path, [&](const data::JsonLine& line) {
    Json extra;
    for (const auto& [key, value] : line.json.as_object()) {
      if (std::find(kLineKeys.begin(), kLineKeys.end(), key) == kLineKeys.end()) {
        extra[key] = value;
      }
    }
    if (!extra.is_null()) {
      extras[line.json.at("episode_index").as_int()] = std::move(extra);
    }
  });
  return extras;
}

bool is_known(std::string_view column) {
  return std::find(kColumns.begin(), kColumns.end(), column) != kColumns.end() ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](auto prefix) { return column.starts_with(prefix); });
}

Json number(double value, table::ValueKind kind) {
  return kind == table::ValueKind::kBool  ? Json(value != 0)
         : kind == table::ValueKind::kInt ? Json(static_cast<int64_t>(value))
                                          : Json(value);
}

/// The values of a column without nulls, one per row; nothing for a type that has no JSON form here.
std::optional<std::vector<Json>> column_values(const table::Rows& rows, const std::string& name, bool holds_json) {
  const table::ColumnInfo column = rows.info(name);
  std::vector<Json> values;
  if (column.kind == table::ValueKind::kText && column.depth == 0) {
    for (std::string& text : rows.texts(name)) {
      values.push_back(holds_json ? Json::parse(text, str_cat(rows.path(), ", column ", name)) : Json(std::move(text)));
    }
  } else if (column.kind == table::ValueKind::kText && column.depth == 1) {
    for (const auto& texts : rows.text_lists(name)) {
      values.emplace_back(texts);
    }
  } else if (column.depth <= 1 && column.kind != table::ValueKind::kOther && column.kind != table::ValueKind::kImage) {
    const table::NumberLists lists = rows.number_lists(name);
    for (size_t row = 0, next = 0; row < lists.ends.size(); ++row) {
      Json list = Json::array();
      for (; next < static_cast<size_t>(lists.ends[row]); ++next) {
        list.push_back(number(lists.values[next], column.kind));
      }
      values.push_back(column.depth == 0 ? list.as_array().at(0) : std::move(list));
    }
  } else {
    return std::nullopt;
  }
  return values;
}

void read_columns(const std::string& path, Extras& extras) {
  table::RowReader reader(path);
  std::vector<std::string> names = reader.columns();
  std::erase_if(names, is_known);
  if (names.empty()) {
    return;
  }
  const table::Rows rows = reader.read(0, reader.num_rows());
  const std::string marked = table::ParquetReader::open(path).metadata(kJsonColumnsKey);
  const std::vector<std::string> json_columns =
      marked.empty() ? std::vector<std::string>() : Json::parse(marked, path).as_strings();
  const std::vector<int64_t> episodes = rows.integers("episode_index");
  for (const std::string& name : names) {
    const bool holds_json = std::find(json_columns.begin(), json_columns.end(), name) != json_columns.end();
    const std::vector<bool> present = rows.present(name);
    auto values = column_values(rows.filter(present), name, holds_json);
    if (!values) {
      log_warn("column of the episodes left out",
               {{"column", name}, {"type", rows.info(name).type_text}, {"file", path}});
      continue;
    }
    for (size_t row = 0, next = 0; row < episodes.size(); ++row) {
      if (present[row]) {
        extras[episodes[row]][name] = std::move((*values)[next++]);
      }
    }
  }
}

}  // namespace

std::vector<Json> read_episode_extras(const data::DatasetInfo& info, const std::vector<EpisodeRecord>& records) {
  Extras extras;
  if (info.major == 3) {
    for (const std::string& path : episode_files(info.root)) {
      read_columns(path, extras);
    }
  } else {
    extras = read_lines(info.root + "/meta/episodes.jsonl");
  }
  std::vector<Json> result(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    if (const auto found = extras.find(records[i].episode_index); found != extras.end()) {
      result[i] = std::move(found->second);
    }
  }
  return result;
}

}  // namespace flexor::curate
