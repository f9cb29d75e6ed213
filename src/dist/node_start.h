#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dist/launch_env.h"
#include "dist/node_plan.h"

namespace flexor::dist {

/// A port that nobody listens on. @throws Error(kRuntime)
int64_t free_port();
/// Whether a process of this machine listens on the port, so that rank 0 could not.
bool is_port_taken(int64_t port);

/// torchrun's variables of one rank. Threads are shared out if the user has not set OMP_NUM_THREADS.
/// @param num_cores  that this process may use
std::vector<std::pair<std::string, std::string>> rank_variables(const NodePlan& plan, int64_t local_rank, int num_cores,
                                                                const Env& env);

/// The command line that starts the ranks of another node, for a shell in any folder.
/// @param program, folder  of this process  @param command  what the ranks run
std::string node_command(const NodePlan& plan, int64_t node, const std::string& program, const std::string& folder,
                         const std::vector<std::string>& command);

/// The words for a POSIX shell, quoted where they need it.
std::string shell_text(const std::vector<std::string>& words);

}  // namespace flexor::dist
