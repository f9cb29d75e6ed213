#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "curate/episode_rows.h"
#include "curate/rewrite_plan.h"
#include "schema/norm_stats.h"

namespace flexor::curate {

/// Computes the statistics of planned episodes that no source keeps: numbers exactly, cameras (depth ones excepted) as
/// LeRobot's recorder samples them. Not thread-safe; one per thread.
class MissingStats {
 public:
  MissingStats(const RewritePlan& plan, const std::vector<TableColumn>& columns);
  ~MissingStats();
  MissingStats(const MissingStats&) = delete;
  MissingStats& operator=(const MissingStats&) = delete;

  /// Under the recorded names, numbered as in the new dataset. @throws Error(kFile), Error(kData)
  schema::NormStats compute(size_t number);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flexor::curate
