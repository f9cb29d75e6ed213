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
  std::string name;              ///< "configuration", "memory", "plan", "weights", "tokenizer", "data", "output folder"
  std::string found;             ///< for people; empty with a problem
  std::optional<Error> problem;  ///< why the run would not start
};

/// Everything that `flexor train` finds out before its first step: configuration, memory, weights (whole, all tensors,
/// their shapes), tokenizer, datasets with statistics and prompts, the place of the output. Nothing is written, no
/// weights are read. What needs something that has a problem is left out.
std::vector<RunCheck> check_run(const config::Sources& sources, int64_t world);

}  // namespace flexor::train
