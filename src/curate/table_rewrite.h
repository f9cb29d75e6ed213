#pragma once
#include <functional>
#include <vector>

#include "curate/episode_rows.h"
#include "curate/file_layout.h"
#include "curate/rewrite_plan.h"
#include "curate/rewritten_info.h"

namespace flexor::curate {

/// A piece of the work that can be done beside others. Called once.
using Job = std::function<void()>;

/// Jobs that write the data files below `root`, one row group an episode. Each sets the changes of its episodes.
/// @param on_frames  told of frames that were written; thread-safe
std::vector<Job> table_jobs(const RewritePlan& plan, const FileLayout& layout, TargetVersion version,
                            const std::string& root, std::vector<RowChanges>& changes,
                            const std::function<void(int64_t)>& on_frames);

/// Columns of the sources that info.json does not describe, which are therefore left out: other programs could not read
/// the files with them.
std::vector<std::string> undescribed_columns(const RewritePlan& plan);

}  // namespace flexor::curate
