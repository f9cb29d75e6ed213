#pragma once
#include <string>

#include "recap/recap_config.h"
#include "recap/run.h"

namespace flexor::recap {

/// Why a run does not need a step: STEAM reads no returns, a value checkpoint is given. "" if it does.
std::string why_not_needed(const RecapConfig& config, Step step);

/// Everything about a run that can be known before its first step: methods that fit together, datasets with the cameras
/// of their robot type, models, tokenizers, places that can be written, and that every sidecar that a step reads is
/// there or made by a step before it, for all frames.
/// @throws Error that lists all problems
void check_run(const RecapConfig& config, const RunOptions& options);

}  // namespace flexor::recap
