#include "curate/verify.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "curate/verify_tables.h"
#include "curate/verify_videos.h"
#include "data/dataset_info.h"
#include "data/dataset_stats.h"
#include "data/dataset_tasks.h"
#include "data/episode_records.h"
#include "data/stats_check.h"

namespace flexor::curate {
namespace {

using data::Finding;

class Verifier {
 public:
  explicit Verifier(const VerifyOptions& options) : options_(options) { report_.root = options.root; }

  VerifyReport run() {
    if (read_info()) {
      read_metadata();
      check_tables();
      check_videos();
      check_stats();
    }
    return std::move(report_);
  }

 private:
  void take(std::vector<Finding>&& findings) {
    std::move(findings.begin(), findings.end(), std::back_inserter(report_.findings));
  }

  bool read_info() {
    const bool is_read = data::attempt("info_unreadable", options_.root, &report_.findings, [this] {
      info_ = data::read_dataset_info(options_.root, report_.findings);
      data::add_index_features(info_);
    });
    if (is_read) {
      report_.version = info_.version;
    } else if (report_.findings.back().file.empty()) {
      report_.findings.back().code = "info_missing";
    }
    return is_read;
  }

  void read_metadata() {
    std::vector<Finding> broken;
    tasks_ = data::read_tasks(info_, report_.findings, &broken);
    has_tasks_ = broken.empty();
    take(std::move(broken));
    broken = {};
    records_ = data::read_episode_records(info_, report_.findings, &broken);
    take(std::move(broken));
  }

  void check_tables() {
    tables_ = verify_tables(info_, has_tasks_ ? &tasks_ : nullptr, records_, options_.decode);
    report_.episodes = static_cast<int64_t>(records_.size());
    report_.frames = tables_.num_rows;
    report_.data_files = tables_.num_files;
    take(std::move(tables_.findings));
    for (const data::FeatureInfo& feature : info_.features) {
      const auto summary = tables_.whole.find(feature.name);
      if (summary != tables_.whole.end()) {
        data::check_dimensions(feature, summary->second, report_.findings);
      }
    }
  }

  void check_videos() {
    VideosReport videos = verify_videos(info_, records_, tables_.rows, options_.decode);
    report_.videos = videos.num_files;
    if (!records_.empty() && has_tasks_) {
      data::check_totals(info_, records_, static_cast<int64_t>(tasks_.size()), videos.num_files, report_.findings);
    }
    take(std::move(videos.findings));
  }

  void check_stats() {
    const size_t before = report_.findings.size();
    data::check_episode_stats(info_, tables_.by_episode, report_.findings);
    const auto first = report_.findings.begin() + static_cast<std::ptrdiff_t>(before);
    const bool is_broken = data::has_errors({first, report_.findings.end()});
    if (is_broken) {  // the aggregate of wrong episodes says nothing new
      return;
    }
    schema::NormStats stored;
    const bool is_read = data::attempt("stats_unreadable", options_.root, &report_.findings,
                                       [&] { stored = data::read_stored_stats(info_, report_.findings); });
    if (is_read && !stored.empty()) {
      data::check_stored_stats(info_, stored, tables_.whole, report_.findings);
    }
  }

  const VerifyOptions& options_;
  VerifyReport report_;
  data::DatasetInfo info_;
  data::TaskTable tasks_;
  bool has_tasks_ = false;
  std::vector<data::EpisodeRecord> records_;
  TablesReport tables_;
};

}  // namespace

VerifyReport verify_dataset(const VerifyOptions& options) {
  return Verifier(options).run();
}

}  // namespace flexor::curate
