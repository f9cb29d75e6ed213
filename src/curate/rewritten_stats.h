#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "curate/episode_rows.h"
#include "curate/rewrite_plan.h"
#include "curate/stored_stats.h"
#include "curate/table_rewrite.h"
#include "schema/norm_stats.h"

namespace flexor::curate {

/// Statistics of the episodes of a dataset that is being written, and of all of them. Those that the sources keep are
/// taken over, numbers of episodes and tasks adapted; those of episodes that have none are computed.
class RewrittenStats {
 public:
  /// @param columns, changes  of the tables and of each episode; they must outlive this
  RewrittenStats(const RewritePlan& plan, TargetVersion version, const std::vector<TableColumn>& columns,
                 const std::vector<RowChanges>& changes);

  /// Jobs that compute what no source keeps: numbers exactly, pictures as LeRobot samples them. To be done before
  /// read().
  std::vector<Job> missing_jobs();

  /// Statistics of an episode, under the recorded names, once each and in ascending order. Features that the new
  /// dataset has not are gone. Each counts for total().
  schema::NormStats read(size_t number);
  void restart();  ///< read() begins again with the first episode

  /// meta/stats.json: statistics of all episodes that were read, except that a whole dataset keeps what its own
  /// stats.json says. Null when there is nothing to write: no statistics, or in v2.1 nothing that its episodes do not
  /// say.
  Json total();

 private:
  void flush();
  bool has_changed(const std::string& feature) const;
  Json kept_total(Json total) const;

  const RewritePlan& plan_;
  TargetVersion version_;
  const std::vector<TableColumn>& columns_;
  const std::vector<RowChanges>& changes_;
  std::vector<StoredStats> stored_;                         ///< per source
  std::vector<std::optional<schema::NormStats>> computed_;  ///< per episode; empty: stored
  std::vector<schema::NormStats> parts_;                    ///< read, the first one of many together
};

}  // namespace flexor::curate
