#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "curate/episode_stats.h"
#include "data/column_loader.h"
#include "data/dataset_info.h"
#include "data/episode_records.h"
#include "data/finding.h"

namespace flexor::curate {

/// What statistics need to know about a dataset; no values are in memory. Episodes are numbered 0..num_episodes()-1 in
/// ascending order of episode_index.
struct StatsSource {
  data::DatasetInfo info;
  std::vector<data::EpisodeRecord> records;
  std::vector<data::LoadedColumns::Rows> rows;  ///< where each episode's rows stand
  std::vector<data::FeatureInfo> numeric;       ///< features with a column of numbers, in info.json's order
  std::vector<data::FeatureInfo> cameras;       ///< those with pictures; depth cameras are left out
  std::vector<data::Finding> findings;          ///< oddities, none of them an error
  int64_t num_frames = 0;

  size_t num_episodes() const { return rows.size(); }
  /// Camera `camera` in episode number `episode`.
  CameraEpisode camera_episode(const data::FeatureInfo& camera, size_t episode) const;
};

/// @throws Error(kFile), Error(kData) for a dataset that training refuses, as far as metadata and row counts show it
StatsSource open_stats_source(std::string root);

}  // namespace flexor::curate
