#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/str_cat.h"
#include "recap/advantages.h"
#include "recap/sidecar.h"
#include "table/parquet_reader.h"
#include "table/parquet_writer.h"

namespace flexor::recap {
namespace {

/// A column as T, empty if the file has none. @throws Error(kData) for several values a row
template <typename T>
std::vector<T> column(const table::ParquetReader& reader, const char* name) {
  if (reader.find(name) == nullptr) {
    return {};
  }
  table::NumericColumn read = reader.read_numeric(name);
  if (read.width != 1) {
    throw Error(ErrorKind::kData, str_cat("column ", name, " has ", read.width, " values a row, expected 1"),
                reader.path());
  }
  if (auto* same = std::get_if<std::vector<T>>(&read.values)) {
    return std::move(*same);
  }
  std::vector<T> result(static_cast<size_t>(read.rows));
  for (int64_t row = 0; row < read.rows; ++row) {
    result[static_cast<size_t>(row)] = static_cast<T>(read.at(row));
  }
  return result;
}

}  // namespace

void write_advantages(const std::string& path, const AdvantageRows& rows, const std::string& dataset_name,
                      const Json& made_by) {
  const auto column_of = [](const char* name, const auto& values) {
    return table::WriteColumn{.name = name, .values = values};
  };
  table::write_parquet(path,
                       {column_of("episode_index", rows.episode_index), column_of("frame_index", rows.frame_index),
                        column_of("advantage_continuous", rows.advantage_continuous), column_of("return", rows.returns),
                        column_of("value_current", rows.value_current), column_of("value_next", rows.value_next),
                        column_of("reward_sum", rows.reward_sum), column_of("reward_sum_raw", rows.reward_sum_raw),
                        column_of("num_valid_rewards", rows.num_valid_rewards),
                        column_of("dataset_name", std::vector<std::string>(rows.size(), dataset_name)),
                        column_of("advantage", rows.advantage)},
                       {{std::string(kSidecarMetadata), made_by.dump()}});
}

void write_labels(const std::string& source, const std::string& path, const std::vector<uint8_t>& labels,
                  const Json& made_by) {
  const auto reader = table::ParquetReader::open(source);
  std::vector<table::WriteColumn> columns;
  for (const table::ColumnInfo& info : reader.columns()) {
    table::WriteColumn& column = columns.emplace_back();
    column.name = info.name;
    if (info.name == "advantage") {
      column.values = labels;
    } else if (info.kind == table::ValueKind::kText && info.depth == 0) {
      column.values = reader.read_texts(info.name);
    } else {
      table::NumericColumn read = reader.read_numeric(info.name);
      column.layout = info.depth == 0 ? table::Layout::kScalar : table::Layout::kList;
      column.width = read.width;
      std::visit([&column](auto& values) { column.values = std::move(values); }, read.values);
    }
  }
  if (reader.find("advantage") == nullptr) {
    columns.push_back({.name = "advantage", .values = labels});
  }
  table::write_parquet(path, columns, {{std::string(kSidecarMetadata), made_by.dump()}});
}

AdvantageFile read_advantages(const std::string& root, std::string_view tag) {
  AdvantageFile file;
  file.path = require_sidecar(root, "advantages", tag);
  const auto reader = table::ParquetReader::open(file.path);
  for (const char* name : {"episode_index", "frame_index"}) {
    (void)reader.column(name);
  }
  AdvantageRows& rows = file.rows;
  rows.episode_index = column<int64_t>(reader, "episode_index");
  rows.frame_index = column<int64_t>(reader, "frame_index");
  rows.advantage = column<uint8_t>(reader, "advantage");
  rows.advantage_continuous = column<double>(reader, "advantage_continuous");
  if (rows.advantage_continuous.empty()) {  // the label as a score, as the reference's relabelling has it
    (void)reader.column("advantage");
    rows.advantage_continuous.assign(rows.advantage.begin(), rows.advantage.end());
  }
  rows.returns = column<double>(reader, "return");
  rows.value_current = column<double>(reader, "value_current");
  rows.value_next = column<double>(reader, "value_next");
  rows.reward_sum = column<double>(reader, "reward_sum");
  rows.reward_sum_raw = column<double>(reader, "reward_sum_raw");
  rows.num_valid_rewards = column<int64_t>(reader, "num_valid_rewards");
  if (reader.find("dataset_name") != nullptr && reader.num_rows() > 0) {
    file.dataset_name = reader.read_texts("dataset_name", 0, 1).front();
  }
  file.made_by = made_by(reader);
  const auto& scores = rows.advantage_continuous;
  const auto bad = std::find_if(scores.begin(), scores.end(), [](double score) { return !std::isfinite(score); });
  if (bad != scores.end()) {
    const auto row = static_cast<size_t>(bad - scores.begin());
    throw Error(ErrorKind::kData, str_cat("advantage_continuous is ", *bad, ", expected a finite number"),
                str_cat(file.path, ", episode ", rows.episode_index[row], ", frame ", rows.frame_index[row]),
                "flexor recap advantages --config FILE");
  }
  return file;
}

}  // namespace flexor::recap
