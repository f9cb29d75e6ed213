#pragma once
#include <string>
#include <vector>

#include "curate/episode_rows.h"
#include "curate/file_layout.h"
#include "curate/rewrite_plan.h"
#include "curate/rewritten_info.h"
#include "curate/rewritten_stats.h"
#include "curate/video_rewrite.h"

namespace flexor::curate {

/// What the metadata of a rewritten dataset are made of.
struct MetaParts {
  const RewritePlan& plan;
  const FileLayout& layout;
  const std::vector<std::vector<VideoSpan>>& spans;  ///< per camera, per episode
  RewrittenStats& stats;
};

/// Writes meta/ below `root` but for info.json: tasks, episodes, statistics.
/// @throws Error(kFile), Error(kData) for statistics whose sizes disagree between episodes
void write_meta_v21(const MetaParts& parts, const std::string& root);
void write_meta_v30(const MetaParts& parts, const std::string& root);

}  // namespace flexor::curate
