#pragma once
#include <optional>
#include <string>

#include "base/json.h"
#include "recap/judged_frames.h"

namespace flexor::recap {

/// An episode to draw; it has scores.
struct EpisodeFrames {
  const JudgedRun& run;
  const JudgedDataset& dataset;
  const JudgedEpisode& episode;
  std::optional<double> fps;  ///< null: the time axis counts frames
};

/// V and return, and A (or the ensemble's score) with its threshold, over time: inline SVG of 1120 units' width.
std::string episode_plots(const EpisodeFrames& frames);

/// What the cursor of report_assets.h shows: {fps, timed, step, first, name, value, target, score, label}; of a long
/// episode every `step`-th frame.
Json cursor_values(const EpisodeFrames& frames);

}  // namespace flexor::recap
