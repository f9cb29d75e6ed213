#pragma once
#include <string>
#include <vector>

#include "curate/rewrite_plan.h"

namespace flexor::curate {

/// Carries over what other programs keep beside the data: README.md, LICENSE and other files of the root and of meta/.
/// A whole dataset keeps them as they are. Of a part, and of several together, Parquet tables with a column
/// episode_index (returns and advantages of RECAP) keep the rows of the episodes, numbered anew; what the sources do
/// not agree on is left out.
/// @returns what was left out and why, "meta/x.json: differs between the sources"
/// @throws Error(kFile), Error(kData)
std::vector<std::string> copy_other_files(const RewritePlan& plan, const std::string& root);

}  // namespace flexor::curate
