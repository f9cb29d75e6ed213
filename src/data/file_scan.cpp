#include "data/file_scan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"

namespace flexor::data {
namespace {

/// RECAP adds these to info.json and keeps their values in files of its own (meta/returns.parquet).
constexpr std::array<std::string_view, 3> kSidecars = {"return", "reward", "prompt"};

std::optional<table::ValueKind> kind_of(const FeatureInfo& feature) {
  if (feature.is_numeric()) {
    return numeric_kind(feature);
  }
  if (feature.dtype == "string") {
    return table::ValueKind::kText;
  }
  if (feature.dtype == "image") {
    return table::ValueKind::kImage;
  }
  return std::nullopt;  // videos have files of their own, language columns come and go
}

}  // namespace

std::vector<Finding> check_columns(const table::ParquetReader& reader, const DatasetInfo& info,
                                   const std::string& file) {
  std::vector<Finding> findings;
  const auto add = [&](const std::string& code, const FeatureInfo& feature, const std::string& found,
                       const std::string& message, const std::string& hint = {}) {
    findings.push_back({.code = code,
                        .severity = Severity::kError,
                        .file = file,
                        .feature = feature.recorded_name,
                        .expected = feature.dtype,
                        .found = found,
                        .message = message,
                        .hint = hint});
  };
  for (const FeatureInfo& feature : info.features) {
    if (const auto* column = reader.find(feature.recorded_name); column != nullptr && feature.dtype == "video") {
      add("column_type", feature, column->type_text, "type of the column; a video has files of its own",
          "correct the dtype of the feature in meta/info.json");
    }
    const auto kind = kind_of(feature);
    if (!kind || std::find(kSidecars.begin(), kSidecars.end(), feature.recorded_name) != kSidecars.end()) {
      continue;
    }
    const table::ColumnInfo* column = reader.find(feature.recorded_name);
    if (column == nullptr && feature.name != "frame_index") {
      add("column_missing", feature, "no column", "column of the feature");
    } else if (column != nullptr && column->kind != *kind) {
      add("column_type", feature, column->type_text, "type of the column");
    }
  }
  return findings;
}

std::vector<Run> find_runs(const table::ParquetReader& reader) {
  std::vector<Run> runs;
  reader.for_each_piece("episode_index", [&](int64_t first_row, const table::NumericColumn& numbers) {
    if (numbers.width != 1 || !std::holds_alternative<std::vector<int64_t>>(numbers.values)) {
      throw Error(ErrorKind::kData, "column episode_index does not hold one whole number a row", reader.path());
    }
    const auto& values = std::get<std::vector<int64_t>>(numbers.values);
    for (size_t row = 0; row < values.size(); ++row) {
      if (runs.empty() || runs.back().episode_index != values[row]) {
        const int64_t place = first_row + static_cast<int64_t>(row);
        runs.push_back({values[row], place, 0, place, true});
      }
      ++runs.back().count;
    }
  });
  return runs;
}

void scan_column(const table::ParquetReader& reader, const FeatureInfo& feature, const std::vector<Run>& runs,
                 const std::function<void(size_t run, const ColumnPiece& piece)>& body) {
  size_t run = 0;
  reader.for_each_piece(feature.recorded_name, [&](int64_t first_row, table::NumericColumn&& numbers) {
    if (numbers.width != feature.size()) {
      throw Error(
          ErrorKind::kData,
          str_cat(feature.recorded_name, " has ", numbers.width, " values a frame, info.json says ", feature.size()),
          reader.path());
    }
    Column column{feature.name, numbers.width, {}};
    std::visit([&](auto& values) { column.values = std::move(values); }, numbers.values);
    const int64_t end_row = first_row + numbers.rows;
    for (int64_t row = first_row; row < end_row && run < runs.size();) {
      row = std::max(row, runs[run].first_row);  // rows between the runs belong to nobody
      if (row >= end_row) {
        break;
      }
      const int64_t run_end = runs[run].first_row + runs[run].count;
      const int64_t count = std::min(end_row, run_end) - row;
      body(run, {&column, row - first_row, count, row - runs[run].first_row});
      row += count;
      run += row == run_end ? 1 : 0;
    }
  });
}

}  // namespace flexor::data
