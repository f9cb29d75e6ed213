#pragma once
#include <string>
#include <vector>

#include "dist/launch_env.h"

namespace flexor::dist {

/// A variable that is set, and what that means.
struct VariableNote {
  std::string name, value, meaning;
  std::string advice;  ///< what to do about it; empty if it is fine
};

/// What is known about the machine.
struct VariableContext {
  bool on_ascend = false;
  int64_t local_world = 1;
  int64_t num_cores = 1;  ///< that this process may use
};

/// The variables of launchers, OpenMP, LibTorch, CUDA and Ascend that are set. Pure.
std::vector<VariableNote> explain_variables(const Env& env, const VariableContext& context);

}  // namespace flexor::dist
