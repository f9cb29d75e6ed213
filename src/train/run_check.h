#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/load.h"

namespace flexor::train {

/// One thing that a run needs.
struct RunCheck {
  std::string name;   ///< "configuration", "device", "memory", "plan", "weights", "tokenizer", "data", "output folder"
  std::string found;  ///< for people; empty with a problem
  std::optional<Error> problem;  ///< why the run would not start
};

/// Everything that `flexor train` finds out before its first step: configuration, device (which this process then has),
/// memory, weights (whole, all tensors, their shapes), tokenizer, datasets with statistics and prompts, the place of
/// the output. Nothing is written, no weights are read. What needs something that has a problem is left out.
/// @param ranks_of_node  those of the `world` ranks that share this machine's memory
std::vector<RunCheck> check_run(const config::Sources& sources, int64_t world, int64_t ranks_of_node);

}  // namespace flexor::train
