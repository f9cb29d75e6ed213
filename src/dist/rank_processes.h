#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace flexor::dist {

/// One process of the ranks of this node.
struct RankProcess {
  int64_t rank = 0;
  std::vector<std::pair<std::string, std::string>> variables;  ///< on top of this process's environment
};

struct RanksOptions {
  double grace_s = 30;  ///< between SIGTERM and SIGKILL
};

/// How the ranks ended.
struct LaunchOutcome {
  int exit_code = 0;  ///< of the first rank that did not end with 0; 128 + the signal that killed it
  bool was_signalled = false;
  int64_t rank = -1;   ///< that rank
  int64_t pid = 0;     ///< its process
  int stopped_by = 0;  ///< the signal that this process got and passed on, else 0
};

/// Runs `command` once for every rank and returns when all have ended.
///
/// Lines of the ranks go to `out` and `err` as "[rank] line", whole, in the order in which they come. stdin of the
/// ranks is empty. Each rank has a process group of its own. SIGINT, SIGTERM and SIGHUP are passed on to all groups;
/// when a rank ends with another code than 0, the others get SIGTERM; in both cases SIGKILL after the grace time. A
/// group goes with its leader: nothing is left behind, also when this process is killed. Call it from the main thread,
/// before other threads start: signals are blocked meanwhile.
/// @param command  the program, looked up in PATH, and its arguments
/// @throws Error(kFile) if there is no such program, Error(kRuntime) if a process cannot be started; none is left then
LaunchOutcome run_ranks(const std::vector<std::string>& command, const std::vector<RankProcess>& ranks,
                        const RanksOptions& options, std::ostream& out, std::ostream& err);

}  // namespace flexor::dist
