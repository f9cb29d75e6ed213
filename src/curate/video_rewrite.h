#pragma once
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "curate/file_layout.h"
#include "curate/rewrite_plan.h"
#include "curate/table_rewrite.h"

namespace flexor::curate {

/// The part of a new video file that belongs to an episode.
struct VideoSpan {
  double from_s = 0, to_s = 0;
};

/// What became of the videos.
struct VideoOutcome {
  std::vector<std::vector<VideoSpan>> spans;  ///< per camera, per episode
  std::mutex mutex;                           ///< of what follows
  int64_t copied = 0;                         ///< files
  std::vector<std::string> reencoded;         ///< relative paths
};

/// Jobs that write the video files below `root`. Each sets the spans of its episodes.
/// @param reencode   encode files again whose packets cannot be copied, with the settings that info.json records
/// @param on_frames  told of frames that were written; thread-safe
std::vector<Job> video_jobs(const RewritePlan& plan, const FileLayout& layout, const std::string& root, bool reencode,
                            VideoOutcome& outcome, const std::function<void(int64_t)>& on_frames);

}  // namespace flexor::curate
