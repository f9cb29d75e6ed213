#pragma once
#include <optional>

#include "cli/doctor_report.h"
#include "config/load.h"
#include "dist/launch_env.h"

namespace flexor::cli {

/// Who started this process, and the variables that say so or matter otherwise.
/// @param launch  filled if the variables make sense
DoctorSection launch_section(const dist::Env& env, std::optional<dist::Launch>& launch);

/// The ranks meet and sum tensors; rank 0's view. Called by all ranks.
DoctorSection group_section(const dist::Launch& launch, double timeout_s);

/// What stands in the way of a training run. @param ranks_of_node  of the `world` ranks
DoctorSection run_section(const config::Sources& sources, int64_t world, int64_t ranks_of_node);

}  // namespace flexor::cli
