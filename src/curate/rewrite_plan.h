#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "curate/source_dataset.h"

namespace flexor::curate {

/// An episode of the dataset to be written; its new episode_index is its place in the plan.
struct PlannedEpisode {
  size_t source = 0;        ///< index into RewritePlan::sources
  size_t episode = 0;       ///< index into that source's episodes
  int64_t first_index = 0;  ///< of its first frame in the new dataset
};

/// A dataset to be written, made of episodes of others. The sources must outlive it.
struct RewritePlan {
  std::vector<const SourceDataset*> sources = {};
  std::vector<PlannedEpisode> episodes = {};
  int64_t num_frames = 0;
  std::vector<std::string> tasks = {};                               ///< task_index -> text
  std::vector<std::unordered_map<int64_t, int64_t>> task_maps = {};  ///< per source: task_index there -> here
  Json splits = {};                                                  ///< name -> "first:last"
  bool by_file = false;  ///< what fills files of v3.0: the files of the sources (true) or their episodes

  const SourceEpisode& episode(size_t number) const {
    return sources[episodes[number].source]->episodes[episodes[number].episode];
  }
  /// @param camera  index into model().cameras
  const SourceVideo& video(size_t number, size_t camera) const;
  /// All episodes of one source, in order: its statistics stay what they are.
  bool is_whole() const { return sources.size() == 1 && episodes.size() == sources[0]->episodes.size(); }
  /// Features, cameras and rate: those of the first source.
  const SourceDataset& model() const { return *sources[0]; }
};

/// All episodes, with numbers of tasks that are their rows.
RewritePlan plan_convert(const SourceDataset& source);

/// Some episodes (episode_index, ascending), renumbered; tasks that none of them lists go, unless columns
/// `annotation.*` may refer to them. @throws Error(kConfig) for an unknown episode, or none
RewritePlan plan_subset(const SourceDataset& source, const std::vector<int64_t>& episodes);

/// The episodes of all sources one after the other, tasks united in order of appearance.
/// @throws Error(kData) when fps, robot, or features differ (what a video's `info` says does not count), naming both
RewritePlan plan_merge(const std::vector<SourceDataset>& sources);

}  // namespace flexor::curate
