#pragma once
#include <string>
#include <vector>

#include "recap/judged_frames.h"
#include "recap/report_numbers.h"
#include "report/html_page.h"

namespace flexor::recap {

/// An episode to show and why.
struct ChosenEpisode {
  size_t row = 0;  ///< in ReportNumbers::episodes
  std::string why;
};

/// The typical success and failure (the median of the gap between V and the returns; of an ensemble, of its score), and
/// the two others with the largest gap (of an ensemble: the largest disagreement). None without scores.
std::vector<ChosenEpisode> choose_episodes(const JudgedRun& run, const ReportNumbers& numbers);

/// Episodes by name: "DATASET/EPISODE", or "EPISODE" alone for the first dataset that has it.
/// @throws Error(kConfig) for one that is not there or has no scores
std::vector<ChosenEpisode> named_episodes(const JudgedRun& run, const ReportNumbers& numbers,
                                          const std::vector<std::string>& names);

/// V, returns and advantages of the episodes over time, under a strip of pictures. Pictures that cannot be read leave a
/// sentence. @throws Error(kInterrupted, kTerminated)
void add_episode_views(report::HtmlPage& page, const JudgedRun& run, const ReportNumbers& numbers,
                       const std::vector<ChosenEpisode>& chosen);

}  // namespace flexor::recap
