#include "data/column_loader.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/progress.h"
#include "base/str_cat.h"
#include "base/thread_pool.h"
#include "table/parquet_reader.h"

namespace flexor::data {
namespace {

namespace fs = std::filesystem;
using Values = decltype(Column::values);

/// Rows of one episode that follow each other in a file, and where they are in FileRows::columns.
struct Run {
  int64_t episode_index = 0, first_row = 0, count = 0;
  int64_t offset = 0;
  bool is_selected = false;
};

struct FileRows {
  std::string file;  ///< relative to the root
  std::vector<Run> runs;
  std::vector<Column> columns;  ///< one per wanted feature, only selected rows; width 0: not in this file
  std::vector<Finding> findings;
};

table::ValueKind kind_of(const FeatureInfo& feature) {
  const std::string& dtype = feature.dtype;
  if (dtype == "bool") {
    return table::ValueKind::kBool;
  }
  if (dtype == "float64" || dtype == "double") {
    return table::ValueKind::kFloat64;
  }
  return dtype.starts_with("float") ? table::ValueKind::kFloat32 : table::ValueKind::kInt;
}

Values values_of(table::ValueKind kind) {
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
void append(const From& from, int64_t first, int64_t count, Values& to) {
  std::visit(
      [&](const auto& source) {
        std::visit(
            [&](auto& target) {
              using T = typename std::decay_t<decltype(target)>::value_type;
              const auto begin = source.begin() + first;
              std::transform(begin, begin + count, std::back_inserter(target),
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
    const auto numbers = reader_.read_numeric("episode_index");
    int64_t offset = 0;
    for (int64_t row = 0; row < numbers.rows; ++row) {
      const auto episode = static_cast<int64_t>(numbers.at(row));
      if (result_.runs.empty() || result_.runs.back().episode_index != episode) {
        result_.runs.push_back({episode, row, 0, offset, episodes.contains(episode)});
      }
      ++result_.runs.back().count;
      offset += result_.runs.back().is_selected ? 1 : 0;
    }
    copy_selected();
    return std::move(result_);
  }

 private:
  void add_column(const FeatureInfo& feature) {
    const bool is_optional = feature.name == "frame_index";  // then the row number in the episode counts
    const bool is_here = reader_.find(feature.recorded_name) != nullptr;
    result_.columns.push_back({feature.name, 0, values_of(kind_of(feature))});
    if (!is_here && is_optional) {
      return;
    }
    const table::ColumnInfo& column = reader_.column(feature.recorded_name);
    if (column.kind != kind_of(feature)) {
      result_.findings.push_back({.code = "column_type",
                                  .severity = Severity::kError,
                                  .file = result_.file,
                                  .feature = feature.recorded_name,
                                  .expected = feature.dtype,
                                  .found = column.type_text,
                                  .message = "type of the column"});
    }
    result_.columns.back().width = feature.size();
    names_.push_back(feature.recorded_name);
    targets_.push_back(result_.columns.size() - 1);
  }

  void copy_selected() {
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

struct Source {
  const FileRows* file;
  const Run* run;
};

class Loader {
 public:
  Loader(const DatasetInfo& info, const std::vector<const EpisodeRecord*>& selected,
         const std::vector<const FeatureInfo*>& wanted, std::vector<Finding>& findings)
      : info_(info), selected_(selected), wanted_(wanted), findings_(findings) {
    for (const EpisodeRecord* record : selected) {
      numbers_.insert(record->episode_index);
    }
  }

  LoadedColumns run() {
    std::vector<std::pair<std::string, int64_t>> named;
    for (const EpisodeRecord* record : selected_) {
      if (seen_.insert(record->data_file).second) {
        named.emplace_back(record->data_file, record->episode_index);
      }
    }
    read_files(named);
    if (info_.major == 3 && !all_found()) {
      read_files(other_files());
    }
    merge_findings();
    return merge();
  }

 private:
  /// Parquet files below data/ that no selected record names, in sorted order.
  std::vector<std::pair<std::string, int64_t>> other_files() {
    std::set<std::string> files;
    std::error_code code;
    for (fs::recursive_directory_iterator it(info_.root + "/data", code), end; !code && it != end; it.increment(code)) {
      const std::string file = it->path().lexically_relative(info_.root).string();
      if (it->path().extension() == ".parquet" && !seen_.contains(file)) {
        files.insert(file);
      }
    }
    std::vector<std::pair<std::string, int64_t>> result;
    for (const std::string& file : files) {
      result.emplace_back(file, -1);
    }
    return result;
  }

  /// @param files  relative path, and the episode that a v2.x file holds
  void read_files(const std::vector<std::pair<std::string, int64_t>>& files) {
    constexpr int kMaxThreads = 4;
    const int threads = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads);
    std::vector<FileRows> loaded(files.size());
    Progress progress("reading tables", static_cast<int64_t>(files.size()), "files");
    ThreadPool pool(std::min(threads, std::max(static_cast<int>(files.size()), 1)));
    pool.parallel_for(static_cast<int64_t>(files.size()), [&](int64_t i) {
      const auto& [file, episode] = files[static_cast<size_t>(i)];
      FileLoader loader(info_, file, wanted_);
      loaded[static_cast<size_t>(i)] = info_.major == 3 ? loader.selected(numbers_) : loader.whole(episode);
      progress.advance();
    });
    std::move(loaded.begin(), loaded.end(), std::back_inserter(files_));
  }

  bool all_found() {
    std::set<int64_t> found;
    for (const FileRows& file : files_) {
      for (const Run& run : file.runs) {
        found.insert(run.episode_index);
      }
    }
    return std::includes(found.begin(), found.end(), numbers_.begin(), numbers_.end());
  }

  void merge_findings() {
    std::set<std::string> reported;  // one type of a feature is one finding, not one per file
    for (FileRows& file : files_) {
      for (Finding& finding : file.findings) {
        if (reported.insert(finding.feature).second) {
          findings_.push_back(std::move(finding));
        }
      }
    }
  }

  void report(const EpisodeRecord& record, const std::vector<Source>& found) {
    Finding finding{.severity = Severity::kError, .file = record.data_file, .episode = record.episode_index};
    if (found.empty()) {
      finding.code = "rows_missing";
      finding.message = "no data file has rows of the episode";
    } else if (found.size() > 1) {
      finding.code = "rows_split";
      finding.message = str_cat("the rows of the episode stand in ", found.size(), " places");
    } else if (found[0].file->file != record.data_file) {
      finding.code = "rows_displaced";
      finding.expected = record.data_file;
      finding.found = found[0].file->file;
      finding.message = "file that holds the rows of the episode";
      finding.hint = "the metadata were written by a converter that counts one episode too many into a file";
    } else if (found[0].run->count != record.length) {
      finding.code = "row_count";
      finding.expected = str_cat(record.length, " rows (", record.place, ")");
      finding.found = str_cat(found[0].run->count);
      finding.message = "rows of the episode";
    } else {
      return;
    }
    findings_.push_back(std::move(finding));
  }

  LoadedColumns merge() {
    LoadedColumns result;
    std::map<int64_t, std::vector<Source>> by_episode;
    for (const FileRows& file : files_) {
      for (const Run& run : file.runs) {
        by_episode[run.episode_index].push_back({&file, &run});
      }
    }
    for (size_t c = 0; c < wanted_.size(); ++c) {
      const bool everywhere =
          std::all_of(files_.begin(), files_.end(), [&](const FileRows& file) { return file.columns[c].width > 0; });
      if (everywhere) {
        result.columns[wanted_[c]->name] = {wanted_[c]->name, wanted_[c]->size(), values_of(kind_of(*wanted_[c]))};
      }
    }
    for (const EpisodeRecord* record : selected_) {
      const std::vector<Source>& found = by_episode[record->episode_index];
      report(*record, found);
      if (found.empty()) {
        result.episodes.push_back({info_.root + "/" + record->data_file, 0, 0});
        continue;
      }
      const auto [file, run] = found[0];
      result.episodes.push_back({info_.root + "/" + file->file, run->first_row, run->count});
      for (size_t c = 0; c < wanted_.size(); ++c) {
        if (const auto target = result.columns.find(wanted_[c]->name); target != result.columns.end()) {
          const int64_t width = target->second.width;
          append(file->columns[c].values, run->offset * width, run->count * width, target->second.values);
        }
      }
    }
    return result;
  }

  const DatasetInfo& info_;
  const std::vector<const EpisodeRecord*>& selected_;
  const std::vector<const FeatureInfo*>& wanted_;
  std::vector<Finding>& findings_;
  std::set<int64_t> numbers_;
  std::set<std::string> seen_;
  std::vector<FileRows> files_;
};

}  // namespace

LoadedColumns load_columns(const DatasetInfo& info, const std::vector<const EpisodeRecord*>& selected,
                           const std::vector<const FeatureInfo*>& wanted, std::vector<Finding>& findings) {
  return Loader(info, selected, wanted, findings).run();
}

}  // namespace flexor::data
