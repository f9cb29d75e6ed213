#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "curate/rewrite_plan.h"
#include "curate/rewritten_info.h"
#include "schema/norm_stats.h"
#include "table/row_copy.h"

namespace flexor::curate {

/// What became of an episode's numbering, for its statistics.
struct RowChanges {
  double start_s = 0;                 ///< subtracted from the timestamps
  std::vector<int64_t> task_indices;  ///< new ones of all frames; empty when none changed
};

/// Reads the rows of planned episodes and numbers them anew: episode_index, index, task_index (and the columns
/// `annotation.*` that refer to tasks), frame_index where it is missing. Timestamps that start elsewhere than at 0 by a
/// constant become frame_index / fps, so that every reader finds the picture of the row. The last file stays open. Not
/// thread-safe.
class EpisodeRows {
 public:
  EpisodeRows(const RewritePlan& plan, const std::vector<TableColumn>& columns) : plan_(plan), columns_(columns) {}

  /// @throws Error(kFile), Error(kData): unknown tasks, irregular timestamps, missing columns
  table::Rows read(size_t number, RowChanges& changes);

 private:
  void set_numbers(size_t number, table::Rows& rows) const;
  void set_tasks(size_t number, table::Rows& rows, RowChanges& changes) const;
  void set_timestamps(size_t number, table::Rows& rows, RowChanges& changes) const;
  std::string place(size_t number, const table::Rows& rows) const;

  const RewritePlan& plan_;
  const std::vector<TableColumn>& columns_;
  std::optional<table::RowReader> reader_;
};

/// The statistics that an episode's numbering has after the change; the others stay what they are.
void renumber_stats(const RewritePlan& plan, size_t number, const RowChanges& changes, schema::NormStats& stats);

}  // namespace flexor::curate
