#pragma once
#include <memory>
#include <string>

#include "base/json.h"
#include "dist/group.h"
#include "recap/recap_config.h"

namespace flexor::recap {

/// Runs one step with the configuration's method, and says what it made: datasets with their counts, checkpoints, loss.
/// @param group  the ranks that share it; step 1 is the main one's work  @throws what the step throws
Json run_step(const RecapConfig& config, Step step, const std::shared_ptr<dist::Group>& group);

/// The same in a few words.
std::string shown_result(Step step, const Json& made);

}  // namespace flexor::recap
