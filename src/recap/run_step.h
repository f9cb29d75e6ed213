#pragma once
#include <string>

#include "base/json.h"
#include "recap/recap_config.h"

namespace flexor::recap {

/// Runs one step with the configuration's method, and says what it made: datasets with their counts, checkpoints, loss.
/// @throws what the step throws
Json run_step(const RecapConfig& config, Step step);

/// The same in a few words.
std::string shown_result(Step step, const Json& made);

}  // namespace flexor::recap
