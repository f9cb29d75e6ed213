#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "recap/recap_config.h"

namespace flexor::recap {

struct ScannedEpisode;

/// Where a dataset's outcomes come from: nowhere (sft: all are successes), the column is_success, the key or column
/// is_success of the episodes' metadata (meta/episodes.jsonl, meta/episodes/*/*.parquet), or a list.
class EpisodeOutcomes {
 public:
  /// @param first_file  a data file, whose columns decide when entry.success_from is empty
  /// @throws Error(kData) if there is no outcome at all
  EpisodeOutcomes(const std::string& root, const DatasetEntry& entry, const std::string& type,
                  const std::string& first_file);

  bool reads_column() const { return source_ == Source::kColumn; }

  /// Sets `success` unless it comes from the column. @throws Error(kData) naming an episode without outcome, or
  /// episodes of the list that the dataset does not have
  void apply(std::vector<ScannedEpisode>& episodes) const;

 private:
  enum class Source { kAll, kColumn, kEpisodes, kList };
  void read_metadata();
  void read_lines(const std::string& path);
  void read_tables();

  std::string root_, type_;
  Source source_ = Source::kAll;
  std::unordered_map<int64_t, bool> by_episode_;
  std::unordered_set<int64_t> listed_;
};

}  // namespace flexor::recap
