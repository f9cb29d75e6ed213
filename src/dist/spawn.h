#pragma once
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "dist/orphan_guard.h"

namespace flexor::dist {

/// A process that was started, with this end of its output.
struct Spawned {
  pid_t pid = -1;          ///< also of its process group
  int out = -1, err = -1;  ///< non-blocking; the caller closes them
};

/// The path that `program` names, in PATH if it has no slash. @throws Error(kFile) if there is none that may be run
std::string find_program(const std::string& program);

/// Starts command[0], a path, as the leader of a new process group, with an empty stdin, default signal handling, and
/// SIGKILL as soon as the calling thread is gone.
/// @param variables  set on top of this process's environment
/// @param guard      watches the group before its program runs
/// @throws Error(kRuntime)
Spawned spawn(const std::vector<std::string>& command,
              const std::vector<std::pair<std::string, std::string>>& variables, OrphanGuard& guard);

}  // namespace flexor::dist
