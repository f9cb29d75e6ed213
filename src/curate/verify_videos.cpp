#include "curate/verify_videos.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/file_probe.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/str_cat.h"
#include "base/thread_pool.h"
#include "data/camera_files.h"
#include "data/column_loader.h"
#include "data/video_check.h"

namespace flexor::curate {
namespace {

using data::EpisodeRecord;
using data::FeatureInfo;
using data::Finding;
using data::Severity;

class Videos {
 public:
  Videos(const data::DatasetInfo& info, const std::vector<EpisodeRecord>& records,
         const std::map<int64_t, int64_t>& rows)
      : info_(info), records_(records), rows_(rows) {}

  VideosReport run(bool decode) {
    for (const FeatureInfo& feature : info_.features) {
      if (feature.dtype == "video" && !feature.is_depth && !records_.empty()) {
        collect(feature);
      }
    }
    check_unlisted();
    check(decode);
    return std::move(report_);
  }

 private:
  bool exists(const std::string& file) {
    const auto [known, is_new] = exists_.try_emplace(file, false);
    if (is_new) {
      data::attempt("video_unreadable", info_.root, &report_.findings,
                    [&, &found = known->second] { found = is_regular_file(info_.root + "/" + file); });
      report_.num_files += known->second ? 1 : 0;
    }
    return known->second;
  }

  /// Episodes of one camera by file; those without a file are findings, unless none has one.
  void collect(const FeatureInfo& camera) {
    std::map<std::string, data::VideoNeed> needs;
    std::vector<Finding> missing;
    for (const EpisodeRecord& record : records_) {
      const auto video = record.videos.find(camera.recorded_name);
      const bool is_named = video != record.videos.end();
      if (!is_named || !exists(video->second.file)) {
        missing.push_back({.code = "camera_missing",
                           .severity = Severity::kError,
                           .file = is_named ? video->second.file : record.place,
                           .episode = record.episode_index,
                           .feature = camera.recorded_name,
                           .message = is_named ? "no such video file" : "the metadata name no video of the camera",
                           .hint = "copy the file, or leave the episode out with dataset.episodes"});
        continue;
      }
      const auto rows = rows_.find(record.episode_index);
      data::VideoNeed& need = needs[video->second.file];
      need.camera = &camera;
      need.file = video->second.file;
      need.uses.push_back({record.episode_index, rows == rows_.end() ? record.length : rows->second,
                           video->second.from_s, video->second.to_s});
    }
    if (missing.size() == records_.size()) {
      report_.findings.push_back(data::camera_without_files(info_, camera, records_));
    } else {
      std::move(missing.begin(), missing.end(), std::back_inserter(report_.findings));
    }
    for (auto& need : needs) {
      needs_.push_back(std::move(need.second));
    }
  }

  void check_unlisted() {
    std::vector<std::string> others = data::list_files(info_.root, "videos", ".mp4");
    std::erase_if(others, [&](const std::string& file) { return exists_.contains(file) || is_depth(file); });
    if (!others.empty()) {
      report_.findings.push_back({.code = "file_unlisted",
                                  .severity = Severity::kWarning,
                                  .file = others[0],
                                  .message = str_cat("video files that no episode names: ", others.size())});
    }
  }

  bool is_depth(const std::string& file) const {
    return std::any_of(info_.features.begin(), info_.features.end(), [&](const FeatureInfo& feature) {
      return feature.is_depth && file.find("/" + feature.recorded_name + "/") != std::string::npos;
    });
  }

  void check(bool decode) {
    const data::VideoCheckOptions options{.is_whole = true, .decode = decode};
    std::vector<std::vector<Finding>> found(needs_.size());
    Progress progress(decode ? "decoding videos" : "checking videos", static_cast<int64_t>(needs_.size()), "files");
    ThreadPool pool(std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
    pool.parallel_for(static_cast<int64_t>(needs_.size()), [&](int64_t i) {
      check_interrupt();
      found[static_cast<size_t>(i)] = data::check_video(info_, needs_[static_cast<size_t>(i)], options);
      progress.advance();
    });
    for (std::vector<Finding>& part : found) {
      std::move(part.begin(), part.end(), std::back_inserter(report_.findings));
    }
  }

  const data::DatasetInfo& info_;
  const std::vector<EpisodeRecord>& records_;
  const std::map<int64_t, int64_t>& rows_;
  std::map<std::string, bool> exists_;
  std::vector<data::VideoNeed> needs_;
  VideosReport report_;
};

}  // namespace

VideosReport verify_videos(const data::DatasetInfo& info, const std::vector<EpisodeRecord>& records,
                           const std::map<int64_t, int64_t>& rows, bool decode) {
  return Videos(info, records, rows).run(decode);
}

}  // namespace flexor::curate
