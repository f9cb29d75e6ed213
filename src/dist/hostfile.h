#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dist/launch_env.h"

namespace flexor::dist {

/// One line of a hostfile: a node, and how many ranks run on it.
struct HostSlots {
  std::string host = {};
  int64_t slots = 1;
  int line = 0;  ///< in the file; 0 for hosts that a platform names
};

/// Lines "host slots=N", '#' starts a comment, blank lines count for nothing. Each host stands once.
/// @param where  what errors name, usually the path
/// @throws Error(kFile) that lists every line that is wrong, with its number
std::vector<HostSlots> parse_hostfile(std::string_view text, const std::string& where);

/// @throws Error(kFile) for a file that is missing or empty of hosts, or as parse_hostfile()
std::vector<HostSlots> read_hostfile(const std::string& path);

/// The text that parse_hostfile() reads.
std::string hostfile_text(const std::vector<HostSlots>& hosts);

/// The nodes that the platform names: VC_WORKER_HOSTS (Volcano), else SLURM_JOB_NODELIST. Ranks a node: `nproc`, else
/// NPROC_PER_NODE, PET_NPROC_PER_NODE or SLURM_TASKS_PER_NODE ("8(x2),4").
/// @throws Error(kUsage) if neither hosts nor ranks a node are known, Error(kConfig) for a variable that is malformed
std::vector<HostSlots> platform_hosts(const Env& env, std::optional<int64_t> nproc);

}  // namespace flexor::dist
