#include "curate/rewrite.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "curate/file_layout.h"
#include "curate/rewritten_meta.h"
#include "curate/rewritten_stats.h"
#include "curate/sidecars.h"
#include "curate/table_rewrite.h"
#include "curate/text_file.h"
#include "curate/video_rewrite.h"

namespace flexor::curate {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> roots_of(const RewritePlan& plan) {
  std::vector<std::string> roots;
  for (const SourceDataset* source : plan.sources) {
    roots.push_back(source->info.root);
  }
  return roots;
}

/// The nearest folder above that exists.
fs::path existing_parent(const std::string& target) {
  fs::path folder = fs::weakly_canonical(target).parent_path();
  while (!fs::exists(folder) && folder.has_parent_path() && folder != folder.parent_path()) {
    folder = folder.parent_path();
  }
  return folder;
}

void check_room(double bytes, const std::string& target) {
  std::error_code code;
  const fs::space_info space = fs::space(existing_parent(target), code);
  const bool is_disk = !code && space.capacity > 0;  // /proc has no blocks at all: what is wrong there is said later
  if (is_disk && bytes > static_cast<double>(space.available)) {
    throw Error(ErrorKind::kFile,
                str_cat("no room: about ", human_bytes(bytes), " are to be written, ",
                        human_bytes(static_cast<double>(space.available)), " are free"),
                target, "free some space or choose another folder");
  }
}

/// Runs jobs side by side. After the first error the others end soon, and it is the one that is thrown.
class JobRunner {
 public:
  explicit JobRunner(int64_t frames) : progress_("writing", frames, "frames") {}

  /// For the jobs: counts frames, ends the job when another has failed.
  void on_frames(int64_t frames) {
    progress_.advance(frames);
    if (failed_) {
      throw Error(ErrorKind::kRuntime, "another part of the work failed");
    }
  }

  void run(const std::vector<Job>& jobs) {
    constexpr int kMaxThreads = 8;
    const int threads = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads);
    ThreadPool pool(std::min(threads, std::max(1, static_cast<int>(jobs.size()))));
    pool.parallel_for(static_cast<int64_t>(jobs.size()), [&](int64_t i) { run_one(jobs[static_cast<size_t>(i)]); });
    if (first_error_) {
      std::rethrow_exception(first_error_);
    }
  }

 private:
  void run_one(const Job& job) {
    if (failed_) {
      return;
    }
    try {
      job();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failed_.exchange(true)) {
        first_error_ = std::current_exception();
      }
    }
  }

  Progress progress_;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::exception_ptr first_error_;
};

int64_t bytes_below(const std::string& folder) {
  int64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    bytes += entry.is_regular_file() ? static_cast<int64_t>(entry.file_size()) : 0;
  }
  return bytes;
}

/// What the new dataset lacks by its format.
std::vector<std::string> left_out(const RewritePlan& plan) {
  std::vector<std::string> names;
  for (const std::string& camera : plan.model().absent_cameras) {
    names.push_back("camera " + camera + ": no episode has a video of it");
  }
  for (const std::string& column : undescribed_columns(plan)) {
    names.push_back("column " + column + ": not described in info.json");
  }
  for (const data::FeatureInfo& camera : plan.model().cameras) {
    if (const Json* audio = camera.info.find("has_audio"); audio && audio->is_bool() && audio->as_bool()) {
      names.push_back("audio of " + camera.recorded_name + ": only pictures are copied");
    }
  }
  return names;
}

/// One rewrite, from the plan to the folder under its temporary name.
class Rewriter {
 public:
  Rewriter(const RewritePlan& plan, const std::string& root, const RewriteOptions& options, const FileLayout& layout)
      : plan_(plan),
        root_(root),
        options_(options),
        layout_(layout),
        columns_(table_columns(plan)),
        changes_(plan.episodes.size()),
        stats_(plan, options.version, columns_, changes_) {}

  void write_files() {
    JobRunner runner(plan_.num_frames * (1 + static_cast<int64_t>(layout_.videos.size())));
    const auto on_frames = [&runner](int64_t frames) { runner.on_frames(frames); };
    std::vector<Job> jobs = video_jobs(plan_, layout_, root_, options_.reencode, videos_, on_frames);
    const auto add = [&jobs](std::vector<Job> more) { std::move(more.begin(), more.end(), std::back_inserter(jobs)); };
    add(table_jobs(plan_, layout_, options_.version, root_, changes_, on_frames));
    add(stats_.missing_jobs());
    runner.run(jobs);
  }

  void write_metadata(const Json& info) {
    const MetaParts parts{plan_, layout_, videos_.spans, stats_};
    if (options_.version == TargetVersion::kV30) {
      write_meta_v30(parts, root_);
    } else {
      write_meta_v21(parts, root_);
    }
    TextFile file(root_ + "/meta/info.json");
    file.write(info.dump(4));
    file.close();
  }

  RewriteReport report() {
    RewriteReport report;
    report.version = version_name(options_.version);
    report.episodes = static_cast<int64_t>(plan_.episodes.size());
    report.frames = plan_.num_frames;
    report.tasks = static_cast<int64_t>(plan_.tasks.size());
    report.videos_copied = videos_.copied;
    report.videos_reencoded = static_cast<int64_t>(videos_.reencoded.size());
    report.reencoded = std::move(videos_.reencoded);
    std::sort(report.reencoded.begin(), report.reencoded.end());
    report.dropped = left_out(plan_);
    const std::vector<std::string> files = copy_other_files(plan_, root_);
    report.dropped.insert(report.dropped.end(), files.begin(), files.end());
    report.bytes = bytes_below(root_);
    return report;
  }

 private:
  const RewritePlan& plan_;
  const std::string& root_;
  const RewriteOptions& options_;
  const FileLayout& layout_;
  std::vector<TableColumn> columns_;
  std::vector<RowChanges> changes_;
  RewrittenStats stats_;
  VideoOutcome videos_;
};

}  // namespace

void check_new_folder(const std::string& target, const std::vector<std::string>& sources) {
  if (target.empty()) {
    throw Error(ErrorKind::kUsage, "the name of the folder to be written is empty");
  }
  if (fs::exists(fs::symlink_status(target))) {
    throw Error(ErrorKind::kFile, "the folder to be written exists already", target,
                "choose another name, or remove it first");
  }
  const fs::path absolute = fs::weakly_canonical(target);
  for (const std::string& source : sources) {
    const fs::path relative = absolute.lexically_relative(fs::weakly_canonical(source));
    if (!relative.empty() && *relative.begin() != "..") {
      throw Error(ErrorKind::kFile, "the folder to be written lies in a source", target, "choose a place beside it");
    }
  }
}

Json to_json(const RewriteReport& report) {
  return Json::object({{"dataset", report.dataset},
                       {"version", report.version},
                       {"episodes", report.episodes},
                       {"frames", report.frames},
                       {"tasks", report.tasks},
                       {"videos_copied", report.videos_copied},
                       {"videos_reencoded", report.videos_reencoded},
                       {"reencoded", Json(report.reencoded)},
                       {"dropped", Json(report.dropped)},
                       {"bytes", report.bytes}});
}

RewriteReport rewrite(const RewritePlan& plan, const std::string& target, const RewriteOptions& options) {
  check_new_folder(target, roots_of(plan));
  const Json info = rewritten_info(plan, options.version, options.limits);
  const FileLayout layout = lay_out(plan, options.version, options.limits);
  check_room(layout.total_bytes, target);
  StagedFolder staged(target);
  Rewriter rewriter(plan, staged.path(), options, layout);
  rewriter.write_files();
  rewriter.write_metadata(info);
  RewriteReport report = rewriter.report();
  report.dataset = target;
  check_interrupt();
  check_new_folder(target, roots_of(plan));
  staged.commit_new();
  return report;
}

}  // namespace flexor::curate
