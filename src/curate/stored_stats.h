#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset_info.h"
#include "schema/norm_stats.h"

namespace flexor::curate {

/// The statistics that a dataset keeps beside each episode (meta/episodes_stats.jsonl, or the columns stats/ of
/// meta/episodes), read one by one: those of many episodes do not fit into memory. Best asked in ascending order of
/// episode_index. Not thread-safe.
class StoredStats {
 public:
  /// @throws Error(kFile), Error(kData)
  explicit StoredStats(const data::DatasetInfo& info);
  ~StoredStats();
  StoredStats(StoredStats&&) noexcept;

  bool has(int64_t episode_index) const;
  /// Under the recorded names; empty when the dataset has none for the episode. @throws Error(kData)
  schema::NormStats read(int64_t episode_index);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flexor::curate
