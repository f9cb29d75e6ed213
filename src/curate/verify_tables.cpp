#include "curate/verify_tables.h"

#include <algorithm>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/interrupt.h"
#include "base/progress.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "curate/verify_file.h"
#include "data/column_loader.h"

namespace flexor::curate {
namespace {

using data::EpisodeRecord;
using data::Finding;
using data::Severity;

class TableChecks {
 public:
  TableChecks(const data::DatasetInfo& info, const data::TaskTable* tasks, const std::vector<EpisodeRecord>& records,
              bool decode_images)
      : info_(info), tasks_(tasks), records_(records), decode_images_(decode_images) {
    for (const EpisodeRecord& record : records) {
      listed_tasks_[record.episode_index] = record.tasks;
    }
  }

  TablesReport run() {
    read_files(plan());
    for (FileReport& file : files_) {
      for (Finding& finding : file.findings) {  // training does not read files that no episode names
        finding.severity = named_.contains(file.file) ? finding.severity : Severity::kWarning;
        report_.findings.push_back(std::move(finding));
      }
      report_.num_files += file.is_readable ? 1 : 0;
    }
    check_places();
    check_unlisted();
    check_joins();
    check_start_times();
    check_frame_index();
    merge_summaries();
    return std::move(report_);
  }

 private:
  /// The files that the metadata name, then others below data/.
  std::vector<FileTask> plan() {
    std::vector<FileTask> tasks;
    for (const EpisodeRecord& record : records_) {
      if (named_.insert(record.data_file).second) {
        tasks.push_back({record.data_file, info_.major == 2 ? std::optional(record.episode_index) : std::nullopt});
      }
    }
    std::vector<std::string> others = data::list_files(info_.root, "data", ".parquet");
    std::erase_if(others, [&](const std::string& file) { return named_.contains(file); });
    for (const std::string& file : others) {
      if (info_.major == 3) {
        tasks.push_back({file, std::nullopt});
      }
    }
    if (!others.empty()) {
      report_.findings.push_back({.code = "file_unlisted",
                                  .severity = Severity::kWarning,
                                  .file = others[0],
                                  .message = str_cat("data files that no episode names: ", others.size())});
    }
    return tasks;
  }

  void read_files(const std::vector<FileTask>& tasks) {
    const FileContext context{info_, tasks_, listed_tasks_, decode_images_};
    files_.resize(tasks.size());
    Progress progress("checking tables", static_cast<int64_t>(tasks.size()), "files");
    ThreadPool pool(std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
    pool.parallel_for(static_cast<int64_t>(tasks.size()), [&](int64_t i) {
      check_interrupt();
      files_[static_cast<size_t>(i)] = verify_file(context, tasks[static_cast<size_t>(i)]);
      progress.advance();
    });
  }

  struct Source {
    const FileReport* file;
    FileReport::EpisodeRows* rows;
  };

  /// Rows of each episode, where they are and how many.
  void check_places() {
    std::set<std::string> unreadable;
    for (FileReport& file : files_) {
      for (FileReport::EpisodeRows& rows : file.episodes) {
        sources_[rows.episode_index].push_back({&file, &rows});
      }
      if (!file.is_readable) {
        unreadable.insert(file.file);
      }
    }
    for (const EpisodeRecord& record : records_) {
      std::vector<data::RowsPlace> places;
      for (const Source& source : sources_[record.episode_index]) {
        places.push_back({source.file->file, source.rows->count});
        report_.num_rows += source.rows->count;
      }
      const bool is_known = !places.empty() || !unreadable.contains(record.data_file);
      if (is_known && info_.major == 2 && places.empty()) {
        places.push_back({record.data_file, 0});
      }
      if (const auto finding =
              is_known && !(record.length == 0 && places.empty()) ? check_rows_place(record, places) : std::nullopt) {
        report_.findings.push_back(*finding);
      }
      if (!places.empty()) {
        report_.rows[record.episode_index] = places[0].count;
      }
    }
  }

  void check_unlisted() {
    for (const auto& [episode, sources] : sources_) {
      if (!listed_tasks_.contains(episode)) {
        report_.findings.push_back({.code = "rows_unlisted",
                                    .severity = Severity::kWarning,
                                    .file = sources[0].file->file,
                                    .episode = episode,
                                    .found = str_cat(sources[0].rows->count, " rows"),
                                    .message = "rows of an episode that the metadata do not list; they are not used"});
      }
    }
  }

  void check_joins() {
    std::vector<data::IndexRange> ranges;
    for (const EpisodeRecord& record : records_) {
      const auto& sources = sources_[record.episode_index];
      if (sources.size() == 1 && sources[0].rows->first_index) {
        ranges.push_back(
            {record.episode_index, *sources[0].rows->first_index, sources[0].rows->count, sources[0].file->file});
      }
    }
    data::check_index_joins(ranges, report_.findings);
  }

  void check_start_times() {
    for (const EpisodeRecord& record : records_) {
      const auto& sources = sources_[record.episode_index];
      if (!sources.empty() && sources[0].rows->start_time_s != 0) {
        const double start_s = sources[0].rows->start_time_s;
        report_.findings.push_back(
            {.code = "timestamp_offset",
             .severity = Severity::kWarning,
             .file = sources[0].file->file,
             .episode = record.episode_index,
             .frame = 0,
             .feature = "timestamp",
             .expected = "0",
             .found = short_number(start_s, 9),
             .message = str_cat("first timestamp (s): the clock starts ", short_number(start_s * info_.fps.value(), 4),
                                " frames late; it is subtracted when pictures are looked up")});
      }
    }
  }

  void check_frame_index() {
    int64_t without = 0;
    const FileReport* first = nullptr;
    for (const FileReport& file : files_) {
      if (file.is_readable && !file.has_frame_index) {
        first = first ? first : &file;
        ++without;
      }
    }
    if (first) {
      report_.findings.push_back(
          {.code = "no_frame_index",
           .severity = Severity::kWarning,
           .file = first->file,
           .feature = "frame_index",
           .message = str_cat("no column frame_index in ", without, without == 1 ? " file" : " files",
                              "; the row number in the episode is used")});
    }
  }

  /// Features that every episode has, read to the end.
  void merge_summaries() {
    std::set<std::string> damaged;
    bool is_complete = true;
    for (const FileReport& file : files_) {
      damaged.insert(file.damaged_features.begin(), file.damaged_features.end());
    }
    std::map<std::string, size_t> episodes_with;
    for (const EpisodeRecord& record : records_) {
      const auto& sources = sources_[record.episode_index];
      is_complete = is_complete && (!sources.empty() || record.length == 0);
      if (sources.empty()) {
        continue;
      }
      for (const auto& [feature, summary] : sources[0].rows->summaries) {
        report_.whole[feature].merge(summary);
        ++episodes_with[feature];
      }
      report_.by_episode[record.episode_index] = std::move(sources[0].rows->summaries);
    }
    std::erase_if(report_.whole, [&](const auto& entry) {
      return !is_complete || damaged.contains(entry.first) || episodes_with[entry.first] != report_.by_episode.size();
    });
    for (auto& [episode, summaries] : report_.by_episode) {
      std::erase_if(summaries, [&](const auto& entry) { return damaged.contains(entry.first); });
    }
  }

  const data::DatasetInfo& info_;
  const data::TaskTable* tasks_;
  const std::vector<EpisodeRecord>& records_;
  const bool decode_images_;
  std::map<int64_t, std::vector<std::string>> listed_tasks_;
  std::set<std::string> named_;  ///< files of the records
  std::vector<FileReport> files_;
  std::map<int64_t, std::vector<Source>> sources_;
  TablesReport report_;
};

}  // namespace

TablesReport verify_tables(const data::DatasetInfo& info, const data::TaskTable* tasks,
                           const std::vector<EpisodeRecord>& records, bool decode_images) {
  return TableChecks(info, tasks, records, decode_images).run();
}

}  // namespace flexor::curate
