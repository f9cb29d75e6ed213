#include "curate/numeric_scan.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/str_cat.h"
#include "data/data_file.h"
#include "table/parquet_reader.h"

namespace flexor::curate {
namespace {

/// @throws Error(kData) unless the column is what info.json declares
void check_column(const table::NumericColumn& column, const data::FeatureInfo& feature, const std::string& path) {
  if (column.width != feature.size()) {
    throw Error(
        ErrorKind::kData,
        str_cat(feature.recorded_name, " has ", column.width, " values a frame, info.json says ", feature.size()), path,
        "flexor dataset verify shows what else is wrong");
  }
  if (column.values.index() != data::empty_column(feature).values.index()) {
    throw Error(ErrorKind::kData,
                str_cat("type of the column ", feature.recorded_name, " is not ", feature.dtype, " as info.json says"),
                path, "flexor dataset verify shows what else is wrong");
  }
}

}  // namespace

std::string place_of(const StatsSource& source, const ScanPiece& piece, int64_t row) {
  return str_cat(source.rows[piece.episode].data_file, ", episode ", source.records[piece.episode].episode_index,
                 ", frame ", piece.first_frame + row);
}

void append_piece(const ScanPiece& piece, NumericValues& to) {
  std::visit(
      [&](const auto& from) {
        using Values = std::decay_t<decltype(from)>;
        if (!std::holds_alternative<Values>(to)) {
          to = Values();
        }
        const auto begin = from.begin() + piece.first_row * piece.width;
        std::get<Values>(to).insert(std::get<Values>(to).end(), begin, begin + piece.count * piece.width);
      },
      piece.values);
}

NumericScan::NumericScan(const StatsSource& source) {
  std::map<std::string, size_t> numbers;
  for (size_t episode = 0; episode < source.num_episodes(); ++episode) {
    const auto& rows = source.rows[episode];
    if (rows.count == 0) {
      continue;
    }
    const auto [found, is_new] = numbers.try_emplace(rows.data_file, files_.size());
    if (is_new) {
      files_.push_back({rows.data_file, {}});
    }
    files_[found->second].runs.push_back({episode, rows.first_row, rows.count});
  }
  for (size_t i = 0; i < files_.size(); ++i) {
    std::ranges::sort(files_[i].runs, {}, &Run::first_row);
    add_units(i);
  }
}

void NumericScan::add_units(size_t file) {
  if (files_[file].runs.size() == 1) {  // one episode a file, maybe thousands of them: not opened twice
    units_.push_back({file, 0, -1});
    return;
  }
  constexpr int64_t kUnitRows = 1 << 17;
  const auto reader = table::ParquetReader::open(files_[file].path);
  int64_t rows = 0;
  for (int group = 0, first = 0; group < reader.num_row_groups(); ++group) {
    rows += reader.row_group_rows(group);
    if (rows >= kUnitRows || group + 1 == reader.num_row_groups()) {
      units_.push_back({file, first, group + 1});
      first = group + 1;
      rows = 0;
    }
  }
}

void NumericScan::split(const File& file, const NumericValues& values, int64_t width, int64_t row, int64_t rows,
                        const std::function<void(const ScanPiece&)>& body) {
  auto run = std::ranges::partition_point(file.runs, [row](const Run& r) { return r.first_row + r.count <= row; });
  for (; run != file.runs.end() && run->first_row < row + rows; ++run) {
    const int64_t begin = std::max(run->first_row, row), end = std::min(run->first_row + run->count, row + rows);
    body({run->episode, begin - run->first_row, end - begin, values, begin - row, width});
  }
}

void NumericScan::run(const Unit& unit, const std::vector<const data::FeatureInfo*>& features, const Body& body) const {
  const File& file = files_[unit.file];
  const auto reader = table::ParquetReader::open(file.path);
  std::vector<std::string> names;
  names.reserve(features.size());
  for (const data::FeatureInfo* feature : features) {
    names.push_back(feature->recorded_name);
  }
  const int last = unit.last_group < 0 ? reader.num_row_groups() : unit.last_group;
  reader.for_each_piece(names, unit.first_group, last, [&](int64_t row, std::vector<table::NumericColumn>&& columns) {
    check_interrupt();
    for (size_t i = 0; i < columns.size(); ++i) {
      check_column(columns[i], *features[i], file.path);
      split(file, columns[i].values, columns[i].width, row, columns[i].rows,
            [&](const ScanPiece& piece) { body(i, piece); });
    }
  });
}

}  // namespace flexor::curate
