#include "data/data_file.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "data/file_scan.h"
#include "table/parquet_reader.h"

namespace flexor::data {
namespace {

using ColumnValues = decltype(Column::values);

ColumnValues values_of(table::ValueKind kind) {
  switch (kind) {
    case table::ValueKind::kBool:
      return std::vector<uint8_t>();
    case table::ValueKind::kInt:
      return std::vector<int64_t>();
    case table::ValueKind::kFloat64:
      return std::vector<double>();
    default:
      return std::vector<float>();
  }
}

/// Appends elements [first, first + count) of `from`, converted to the type of `to`.
template <typename From>
void append(const From& from, int64_t first, int64_t count, ColumnValues& to) {
  std::visit(
      [&](const auto& source) {
        std::visit(
            [&](auto& target) {
              using T = typename std::decay_t<decltype(target)>::value_type;
              const size_t size = target.size();
              target.resize(size + static_cast<size_t>(count));
              std::transform(source.begin() + first, source.begin() + first + count,
                             target.begin() + static_cast<std::ptrdiff_t>(size),
                             [](auto v) { return static_cast<T>(v); });
            },
            to);
      },
      from);
}

/// Reads one file: finds the runs of the episodes, then copies the selected ones row group by row group.
class FileLoader {
 public:
  FileLoader(const DatasetInfo& info, std::string file, const std::vector<const FeatureInfo*>& wanted)
      : reader_(table::ParquetReader::open(info.root + "/" + file)) {
    result_.file = std::move(file);
    result_.findings = check_columns(reader_, info, result_.file);
    for (const FeatureInfo* feature : wanted) {
      add_column(*feature);
    }
  }

  /// A file that holds exactly one episode (v2.x).
  FileRows whole(int64_t episode_index) {
    result_.runs = {{episode_index, 0, reader_.num_rows(), 0, true}};
    copy_selected();
    return std::move(result_);
  }

  /// A file of several episodes (v3.0).
  FileRows selected(const std::set<int64_t>& episodes) {
    int64_t offset = 0;
    result_.runs = find_runs(reader_);
    for (Run& run : result_.runs) {
      run.is_selected = episodes.contains(run.episode_index);
      run.offset = offset;
      offset += run.is_selected ? run.count : 0;
    }
    copy_selected();
    return std::move(result_);
  }

 private:
  void add_column(const FeatureInfo& feature) {
    const bool is_optional = feature.name == "frame_index";  // then the row number in the episode counts
    const bool is_here = reader_.find(feature.recorded_name) != nullptr;
    result_.columns.push_back({feature.name, 0, values_of(numeric_kind(feature))});
    if (!is_here && is_optional) {
      return;
    }
    reader_.column(feature.recorded_name);  // throws if it is missing
    result_.columns.back().width = feature.size();
    names_.push_back(feature.recorded_name);
    targets_.push_back(result_.columns.size() - 1);
  }

  void copy_selected() {
    if (names_.empty()) {
      return;
    }
    int64_t first_row = 0;
    for (int group = 0; group < reader_.num_row_groups(); ++group) {
      const int64_t end_row = first_row + reader_.row_group_rows(group);
      const auto overlaps = [&](const Run& run) {
        return run.is_selected && run.first_row < end_row && run.first_row + run.count > first_row;
      };
      if (std::any_of(result_.runs.begin(), result_.runs.end(), overlaps)) {
        copy_group(group, first_row, end_row);
      }
      first_row = end_row;
    }
  }

  void copy_group(int group, int64_t first_row, int64_t end_row) {
    const auto columns = reader_.read_numerics(names_, group, group + 1);
    for (size_t i = 0; i < columns.size(); ++i) {
      Column& target = result_.columns[targets_[i]];
      if (columns[i].rows > 0 && columns[i].width != target.width) {
        throw Error(ErrorKind::kData,
                    str_cat(names_[i], " has ", columns[i].width, " values a frame, info.json says ", target.width),
                    reader_.path());
      }
      for (const Run& run : result_.runs) {
        const int64_t begin = std::max(run.first_row, first_row), end = std::min(run.first_row + run.count, end_row);
        if (run.is_selected && begin < end) {
          append(columns[i].values, (begin - first_row) * target.width, (end - begin) * target.width, target.values);
        }
      }
    }
  }

  table::ParquetReader reader_;
  FileRows result_;
  std::vector<std::string> names_;  ///< of the columns that are read
  std::vector<size_t> targets_;     ///< their places in result_.columns
};

}  // namespace

table::ValueKind numeric_kind(const FeatureInfo& feature) {
  const std::string& dtype = feature.dtype;
  if (dtype == "bool") {
    return table::ValueKind::kBool;
  }
  if (dtype == "float64" || dtype == "double") {
    return table::ValueKind::kFloat64;
  }
  return dtype.starts_with("float") ? table::ValueKind::kFloat32 : table::ValueKind::kInt;
}

Column empty_column(const FeatureInfo& feature) {
  return {feature.name, feature.size(), values_of(numeric_kind(feature))};
}

void append_values(const Column& from, int64_t first, int64_t count, Column& to) {
  append(from.values, first, count, to.values);
}

FileRows read_data_file(const DatasetInfo& info, const std::string& file, const std::vector<const FeatureInfo*>& wanted,
                        int64_t episode_index) {
  return FileLoader(info, file, wanted).whole(episode_index);
}

FileRows read_data_file(const DatasetInfo& info, const std::string& file, const std::vector<const FeatureInfo*>& wanted,
                        const std::set<int64_t>& episodes) {
  return FileLoader(info, file, wanted).selected(episodes);
}

}  // namespace flexor::data
