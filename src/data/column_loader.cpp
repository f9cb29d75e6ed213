#include "data/column_loader.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>
#include <utility>

#include "base/interrupt.h"
#include "base/progress.h"
#include "base/str_cat.h"
#include "base/thread_pool.h"
#include "data/data_file.h"

namespace flexor::data {
namespace {

namespace fs = std::filesystem;
struct Source {
  const FileRows* file;
  const Run* run;
};

class ColumnLoader {
 public:
  ColumnLoader(const DatasetInfo& info, const std::vector<const EpisodeRecord*>& selected,
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
    std::vector<std::pair<std::string, int64_t>> result;
    for (const std::string& file : list_files(info_.root, "data", ".parquet")) {
      if (!seen_.contains(file)) {
        result.emplace_back(file, -1);
      }
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
      check_interrupt();
      const auto& [file, episode] = files[static_cast<size_t>(i)];
      loaded[static_cast<size_t>(i)] = info_.major == 3 ? read_data_file(info_, file, wanted_, numbers_)
                                                        : read_data_file(info_, file, wanted_, episode);
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
        if (reported.insert(finding.code + finding.feature).second) {
          findings_.push_back(std::move(finding));
        }
      }
    }
  }

  void report(const EpisodeRecord& record, const std::vector<Source>& found) {
    std::vector<RowsPlace> places;
    for (const auto& [file, run] : found) {
      places.push_back({file->file, run->count});
    }
    if (auto finding = check_rows_place(record, places)) {
      findings_.push_back(std::move(*finding));
    }
  }

  LoadedColumns merge() {
    std::map<int64_t, std::vector<Source>> by_episode;
    for (const FileRows& file : files_) {
      for (const Run& run : file.runs) {
        by_episode[run.episode_index].push_back({&file, &run});
      }
    }
    LoadedColumns result;
    std::vector<Source> sources;
    for (const EpisodeRecord* record : selected_) {
      const std::vector<Source>& found = by_episode[record->episode_index];
      report(*record, found);
      if (found.empty()) {
        result.episodes.push_back({info_.root + "/" + record->data_file, 0, 0});
      } else {
        const auto& [file, run] = found[0];
        result.episodes.push_back({info_.root + "/" + file->file, run->first_row, run->count});
        sources.push_back(found[0]);
      }
    }
    for (size_t c = 0; c < wanted_.size(); ++c) {
      merge_column(c, sources, result.columns);
    }
    return result;
  }

  /// One column of all episodes; the files' own copies are given up, so that a dataset is in memory hardly twice.
  void merge_column(size_t c, const std::vector<Source>& sources, Columns& columns) {
    if (std::all_of(files_.begin(), files_.end(), [&](const FileRows& file) { return file.columns[c].width > 0; })) {
      Column merged = empty_column(*wanted_[c]);
      int64_t rows = 0;
      for (const Source& source : sources) {
        rows += source.run->count;
      }
      std::visit([&](auto& values) { values.reserve(static_cast<size_t>(rows * merged.width)); }, merged.values);
      for (const auto& [file, run] : sources) {
        append_values(file->columns[c], run->offset * merged.width, run->count * merged.width, merged);
      }
      columns[merged.name] = std::move(merged);
    }
    for (FileRows& file : files_) {
      file.columns[c] = {};
    }
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

std::vector<std::string> list_files(const std::string& root, const std::string& folder, const std::string& extension) {
  std::vector<std::string> files;
  std::error_code code;
  for (fs::recursive_directory_iterator it(root + "/" + folder, fs::directory_options::follow_directory_symlink, code),
       end;
       !code && it != end; it.increment(code)) {
    if (it->path().extension() == extension) {
      files.push_back(it->path().lexically_relative(root).string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<Finding> check_rows_place(const EpisodeRecord& record, const std::vector<RowsPlace>& found) {
  Finding finding{.severity = Severity::kError, .file = record.data_file, .episode = record.episode_index};
  if (found.empty()) {
    finding.code = "rows_missing";
    finding.message = "no data file has rows of the episode";
  } else if (found.size() > 1) {
    finding.code = "rows_split";
    finding.message = str_cat("the rows of the episode stand in ", found.size(), " places");
  } else if (found[0].file != record.data_file) {
    finding.code = "rows_displaced";
    finding.expected = record.data_file;
    finding.found = found[0].file;
    finding.message = "file that holds the rows of the episode";
    finding.hint = "the metadata were written by a converter that counts one episode too many into a file";
  } else if (found[0].count != record.length) {
    finding.code = "row_count";
    finding.expected = str_cat(record.length, " rows (", record.place, ")");
    finding.found = str_cat(found[0].count);
    finding.message = "rows of the episode";
  } else {
    return std::nullopt;
  }
  return finding;
}

LoadedColumns load_columns(const DatasetInfo& info, const std::vector<const EpisodeRecord*>& selected,
                           const std::vector<const FeatureInfo*>& wanted, std::vector<Finding>& findings) {
  return ColumnLoader(info, selected, wanted, findings).run();
}

}  // namespace flexor::data
