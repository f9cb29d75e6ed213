#pragma once
#include <string>
#include <vector>

#include "curate/stats.h"
#include "curate/stats_source.h"

namespace flexor::curate {

/// What a dataset's stored statistics lack.
struct StoredStatsState {
  std::vector<const data::FeatureInfo*>
      incomplete;               ///< features without all ten statistics, or with a std that cannot be
  bool needs_episodes = false;  ///< v2.1: meta/episodes_stats.jsonl is missing or incomplete
  bool is_complete() const { return incomplete.empty() && !needs_episodes; }
};

/// @param features  those that shall have statistics
StoredStatsState stored_stats_state(const StatsSource& source, const std::vector<const data::FeatureInfo*>& features);

/// True for a std that contradicts the quantiles: old writers overflowed when they summed up pictures.
bool is_impossible_picture_std(const schema::FeatureStats& stats);

/// Writes meta/stats.json, replacing the entries of the features in `stats` and keeping all others; v2.1 also
/// meta/episodes_stats.jsonl where `stats.episodes` is given, line by line in the same manner. Each file appears whole.
/// @returns the files written, relative to the root  @throws Error(kFile), Error(kData) for a stats.json that is no
/// JSON
std::vector<std::string> write_stats(const StatsSource& source, const DatasetStats& stats);

/// @throws Error(kFile) if meta/ cannot be written
void check_stats_writable(const StatsSource& source);

}  // namespace flexor::curate
