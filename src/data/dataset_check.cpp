#include "data/dataset_check.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/thread_pool.h"
#include "data/file_scan.h"
#include "data/row_checks.h"
#include "data/stats_check.h"

namespace flexor::data {
namespace {

/// Checks the selected episodes: columns in memory as they are, other numeric features from the files in pieces.
class RowsCheck {
 public:
  explicit RowsCheck(const Dataset& dataset) : dataset_(dataset) {
    for (int64_t number = 0; number < dataset.num_episodes(); ++number) {
      const Episode& episode = dataset.episode(number);
      const auto file = std::filesystem::path(episode.data_file).lexically_relative(dataset.root());
      checks_.emplace_back(dataset.info(), &dataset.tasks(), episode.episode_index, file.string());
    }
  }

  void run(std::vector<Finding>& findings) {
    check_memory();
    check_files(findings);
    std::vector<IndexRange> ranges;
    for (int64_t number = 0; number < dataset_.num_episodes(); ++number) {
      EpisodeRowsCheck& check = checks_[static_cast<size_t>(number)];
      const Episode& episode = dataset_.episode(number);
      if (episode.length == 0) {
        continue;  // reported when the dataset was opened
      }
      check.finish(episode.tasks, findings);
      if (check.first_index()) {
        ranges.push_back({episode.episode_index, *check.first_index(), episode.length, check.file()});
      }
      for (const auto& [feature, summary] : check.summaries()) {
        whole_[feature].merge(summary);
      }
      by_episode_[episode.episode_index] = std::move(check.summaries());
    }
    check_index_joins(ranges, findings);
  }

  const Summaries& whole() const { return whole_; }
  const EpisodeSummaries& by_episode() const { return by_episode_; }

 private:
  void check_memory() {
    for (const FeatureInfo& feature : dataset_.info().features) {
      for (int64_t number = 0; dataset_.has_column(feature.name) && number < dataset_.num_episodes(); ++number) {
        checks_[static_cast<size_t>(number)].add(
            feature, {&dataset_.column(feature.name), dataset_.first_row(number), dataset_.episode(number).length, 0});
      }
    }
  }

  /// The episodes of each file, and the numeric features that are not in memory.
  void check_files(std::vector<Finding>& findings) {
    std::vector<const FeatureInfo*> features;
    for (const FeatureInfo& feature : dataset_.info().features) {
      if (feature.is_numeric() && !dataset_.has_column(feature.name)) {
        features.push_back(&feature);
      }
    }
    std::map<std::string, std::vector<int64_t>> files;
    for (int64_t number = 0; number < dataset_.num_episodes(); ++number) {
      if (dataset_.episode(number).length > 0) {
        files[dataset_.episode(number).data_file].push_back(number);
      }
    }
    if (features.empty()) {
      return;
    }
    constexpr int kMaxThreads = 4;
    const std::vector<std::pair<std::string, std::vector<int64_t>>> list(files.begin(), files.end());
    std::vector<std::vector<Finding>> found(list.size());
    Progress progress("checking tables", static_cast<int64_t>(list.size()), "files");
    ThreadPool pool(std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads));
    pool.parallel_for(static_cast<int64_t>(list.size()), [&](int64_t i) {
      check_interrupt();
      const auto& [path, numbers] = list[static_cast<size_t>(i)];
      scan(path, numbers, features, found[static_cast<size_t>(i)]);
      progress.advance();
    });
    for (std::vector<Finding>& part : found) {
      std::move(part.begin(), part.end(), std::back_inserter(findings));
    }
  }

  void scan(const std::string& path, const std::vector<int64_t>& numbers,
            const std::vector<const FeatureInfo*>& features, std::vector<Finding>& findings) {
    std::vector<Run> runs;
    for (const int64_t number : numbers) {  // ascending episodes need not be ascending rows
      runs.push_back({number, dataset_.episode(number).first_row, dataset_.episode(number).length, 0, true});
    }
    std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.first_row < b.first_row; });
    attempt("data_unreadable", dataset_.root(), &findings, [&] {
      const auto reader = table::ParquetReader::open(path);
      for (const FeatureInfo* feature : features) {
        if (reader.find(feature->recorded_name) != nullptr) {
          attempt("column_unreadable", dataset_.root(), &findings, [&] {
            scan_column(reader, *feature, runs, [&](size_t run, const ColumnPiece& piece) {
              checks_[static_cast<size_t>(runs[run].episode_index)].add(*feature, piece);
            });
          });
        }
      }
    });
  }

  const Dataset& dataset_;
  std::vector<EpisodeRowsCheck> checks_;
  Summaries whole_;
  EpisodeSummaries by_episode_;
};

}  // namespace

std::vector<Finding> check_dataset(const Dataset& dataset, const CheckOptions& options) {
  std::vector<Finding> findings = dataset.findings();
  RowsCheck rows(dataset);
  rows.run(findings);
  const DatasetInfo& info = dataset.info();
  for (const FeatureInfo& feature : info.features) {
    const auto summary = rows.whole().find(feature.name);
    if (summary != rows.whole().end()) {
      check_dimensions(feature, summary->second, findings);
    }
  }
  if (!has_errors(findings) && !dataset.stats().empty()) {
    const size_t before = findings.size();
    check_episode_stats(info, rows.by_episode(), findings);
    const bool compare =
        dataset.is_whole() && !has_errors({findings.begin() + static_cast<std::ptrdiff_t>(before), findings.end()});
    check_stored_stats(info, dataset.stats(), compare ? rows.whole() : Summaries{}, findings);
  }
  if (options.videos) {
    check_pictures(dataset, findings);
  }
  return findings;
}

}  // namespace flexor::data
