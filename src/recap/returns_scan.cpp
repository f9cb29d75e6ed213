#include "recap/returns_scan.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/thread_pool.h"
#include "data/dataset_tasks.h"
#include "recap/episode_outcomes.h"
#include "recap/index_files.h"
#include "recap/returns.h"
#include "table/parquet_reader.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDefaultPrompt = "perform the task";

/// Integers of a column, whatever type they were stored in.
std::vector<int64_t> integers(table::NumericColumn column, const std::string& name, const std::string& path) {
  if (column.width != 1) {
    throw Error(ErrorKind::kData, str_cat("column ", name, " has ", column.width, " values a row, expected 1"), path);
  }
  if (auto* values = std::get_if<std::vector<int64_t>>(&column.values)) {
    return std::move(*values);
  }
  std::vector<int64_t> result(static_cast<size_t>(column.rows));
  for (int64_t row = 0; row < column.rows; ++row) {
    const double value = column.at(row);
    constexpr double kBeyond = 9007199254740992.0;                  // 2^53: a double no longer holds every integer
    if (value != std::floor(value) || std::abs(value) > kBeyond) {  // NaN too
      throw Error(ErrorKind::kData, str_cat("column ", name, ", row ", row, ": expected an integer, found ", value),
                  path);
    }
    result[static_cast<size_t>(row)] = static_cast<int64_t>(value);
  }
  return result;
}

void set_frames(ScannedEpisode& episode, const std::vector<int64_t>& frame_index, const RowRun& run) {
  const auto begin = frame_index.begin() + run.first, end = frame_index.begin() + run.end;
  int64_t expected = 0;
  if (!std::all_of(begin, end, [&expected](int64_t frame) { return frame == expected++; })) {
    episode.frame_index.assign(begin, end);
    std::vector<int64_t> sorted = episode.frame_index;
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
      throw Error(ErrorKind::kData, str_cat("frame_index ", *twice, " stands twice in one episode"),
                  str_cat(episode.file, ", episode ", episode.episode_index));
    }
  }
}

/// Truth value of an episode's last row.
bool last_outcome(const table::NumericColumn& column, const RowRun& run, const ScannedEpisode& episode,
                  bool& flagged_before) {
  for (int64_t row = run.first; row + 1 < run.end; ++row) {
    flagged_before |= column.at(row) > 0;
  }
  const double value = column.at(run.end - 1);
  if (column.width != 1 || std::isnan(value)) {
    throw Error(ErrorKind::kData, str_cat("is_success of the last row is ", value, ", the episode has no outcome"),
                str_cat(episode.file, ", episode ", episode.episode_index),
                "correct the column, or give success_episodes");
  }
  return value != 0;
}

/// One data file. Columns that it lacks stay empty.
class FileScanner {
 public:
  FileScanner(const std::string& root, const data::TaskTable& tasks, bool column_outcome)
      : root_(root), tasks_(tasks), column_outcome_(column_outcome) {}

  /// @param missed  gets the number of episodes flagged as a success before, but not in, their last row
  std::vector<ScannedEpisode> scan(const std::string& path, int64_t& missed) const {
    if (fs::file_size(path) == 0) {
      throw Error(ErrorKind::kData, "the file has 0 bytes", path, "copy the dataset again");
    }
    const auto reader = table::ParquetReader::open(path);
    if (reader.num_rows() == 0) {
      return {};
    }
    IndexColumns columns = read_columns(reader);
    const std::vector<int64_t> episode_index = columns.take("episode_index"), frame_index = columns.take("frame_index"),
                               task_index = columns.take("task_index");
    const table::NumericColumn* outcome = columns.find("is_success");
    const std::vector<std::string> texts = task_texts(reader);
    std::vector<ScannedEpisode> episodes;
    for (const RowRun& run : row_runs(episode_index)) {
      ScannedEpisode& episode = episodes.emplace_back();
      episode.file = path.substr(root_.size() + 1);
      episode.episode_index = run.episode_index;
      episode.length = run.end - run.first;
      if (!frame_index.empty()) {
        set_frames(episode, frame_index, run);
      }
      set_prompts(episode, texts, task_index, run);
      if (outcome != nullptr) {
        bool flagged_before = false;
        episode.success = last_outcome(*outcome, run, episode, flagged_before);
        missed += flagged_before && !episode.success ? 1 : 0;
      }
    }
    return episodes;
  }

 private:
  /// The index columns that a file has, read in one pass.
  struct IndexColumns {
    std::string path;
    std::vector<std::string> names;
    std::vector<table::NumericColumn> columns;

    table::NumericColumn* find(std::string_view name) {
      const auto found = std::find(names.begin(), names.end(), name);
      return found == names.end() ? nullptr : &columns[static_cast<size_t>(found - names.begin())];
    }
    std::vector<int64_t> take(const std::string& name) {
      table::NumericColumn* found = find(name);
      return found == nullptr ? std::vector<int64_t>() : integers(std::move(*found), name, path);
    }
  };

  IndexColumns read_columns(const table::ParquetReader& reader) const {
    if (column_outcome_ && reader.find("is_success") == nullptr) {
      throw Error(ErrorKind::kData, "no column is_success, which other files of the dataset have", reader.path(),
                  "its episodes have no outcome: success_from: episodes, or success_episodes, can give them");
    }
    IndexColumns result{.path = reader.path(), .names = {"episode_index"}, .columns = {}};
    for (const char* name : {"frame_index", "is_success", "task_index"}) {
      const bool wanted = std::string_view(name) != "is_success" || column_outcome_;
      if (wanted && reader.find(name) != nullptr) {
        result.names.emplace_back(name);
      }
    }
    result.columns = reader.read_numerics(result.names);
    return result;
  }

  static std::vector<std::string> task_texts(const table::ParquetReader& reader) {
    const table::ColumnInfo* info = reader.find("task");
    if (info == nullptr || info->depth != 0) {
      return {};
    }
    if (info->kind == table::ValueKind::kText) {
      return reader.read_texts("task");
    }
    const auto numbers = reader.read_numeric("task");
    std::vector<std::string> texts(static_cast<size_t>(numbers.rows));
    for (int64_t row = 0; row < numbers.rows; ++row) {
      texts[static_cast<size_t>(row)] = str_cat(numbers.at(row));
    }
    return texts;
  }

  std::string task_of(int64_t index) const {
    const auto found = tasks_.find(index);
    return found == tasks_.end() ? std::string(kDefaultPrompt) : found->second;
  }

  void set_prompts(ScannedEpisode& episode, const std::vector<std::string>& texts,
                   const std::vector<int64_t>& task_index, const RowRun& run) const {
    const auto same = [&](int64_t a, int64_t b) {
      const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
      return !texts.empty() ? texts[i] == texts[j] : task_index.empty() || task_index[i] == task_index[j];
    };
    for (int64_t row = run.first; row < run.end; ++row) {
      if (row == run.first || !same(row - 1, row)) {
        const auto i = static_cast<size_t>(row);
        episode.prompts.push_back({0, !texts.empty()        ? texts[i]
                                      : !task_index.empty() ? task_of(task_index[i])
                                                            : std::string(kDefaultPrompt)});
      }
      ++episode.prompts.back().count;
    }
  }

  const std::string& root_;
  const data::TaskTable& tasks_;
  bool column_outcome_;
};

void refuse_split_episodes(const std::vector<ScannedEpisode>& episodes, const std::string& root) {
  std::unordered_map<int64_t, const ScannedEpisode*> seen;
  for (const ScannedEpisode& episode : episodes) {
    const auto [found, is_new] = seen.emplace(episode.episode_index, &episode);
    if (!is_new) {
      const std::string& first = found->second->file;
      throw Error(ErrorKind::kData,
                  str_cat("episode ", episode.episode_index, " stands in two places: ",
                          first == episode.file ? str_cat("twice in ", first) : str_cat(first, " and ", episode.file)),
                  root, "its rows must follow each other in one file; the return of a part would be wrong");
    }
  }
}

}  // namespace

ReturnsScan scan_for_returns(const std::string& root, const DatasetEntry& entry, const std::string& type,
                             int num_threads) {
  const std::vector<std::string> files = data_files(root);
  const data::TaskTable tasks = read_task_texts(root);
  const EpisodeOutcomes outcomes(root, entry, type, files.front());
  const FileScanner scanner(root, tasks, outcomes.reads_column());
  std::vector<std::vector<ScannedEpisode>> by_file(files.size());
  std::vector<int64_t> missed(files.size(), 0);
  ThreadPool pool(std::max(0, std::min<int>(num_threads, static_cast<int>(files.size())) - 1));
  pool.parallel_for(static_cast<int64_t>(files.size()), [&](int64_t i) {
    check_interrupt();
    const auto k = static_cast<size_t>(i);
    by_file[k] = scanner.scan(files[k], missed[k]);
  });
  ReturnsScan scan;
  for (auto& episodes : by_file) {
    for (ScannedEpisode& episode : episodes) {
      scan.num_frames += episode.length;
      scan.episodes.push_back(std::move(episode));
    }
  }
  if (scan.episodes.empty()) {
    throw Error(ErrorKind::kData, "all data files are without rows", root);
  }
  refuse_split_episodes(scan.episodes, root);
  outcomes.apply(scan.episodes);
  for (const ScannedEpisode& episode : scan.episodes) {
    scan.num_successes += episode.success ? 1 : 0;
  }
  if (const int64_t total = std::accumulate(missed.begin(), missed.end(), int64_t{0}); total > 0) {
    log_warn("episodes are flagged as successes before their last row, but not in it, and count as failures",
             {{"dataset", root}, {"episodes", total}});
  }
  return scan;
}

}  // namespace flexor::recap
