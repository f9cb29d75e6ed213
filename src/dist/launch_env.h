#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"

namespace flexor::dist {

using flexor::Env;

/// The environment of this process.
Env process_env();

/// Who this process is among those that a launcher started, and where they meet.
struct Launch {
  /// Who started it: none, torchrun, deepspeed, pytorchjob, ascend-operator, env (only RANK and WORLD_SIZE known),
  /// openmpi, slurm, mpich, ranktable, volcano, hand.
  std::string launcher = "none";
  int64_t rank = 0, world = 1;
  int64_t local_rank = 0;   ///< among the ranks of this node; launchers that narrow the visible devices say 0 to all
  int64_t local_world = 1;  ///< ranks of this node, as far as the launcher says; at least local_rank + 1
  int64_t node = 0;         ///< of this rank; where no variable says it, rank / local_world
  int64_t num_nodes = 1;    ///< as far as known; at least node + 1
  std::string master_addr = "127.0.0.1";
  int64_t master_port = 29500;
  std::vector<std::string> hosts;  ///< of all nodes in order, where the platform names them (Slurm, Volcano)
  int64_t restart = 0;             ///< how often the launcher has started all ranks anew (TORCHELASTIC_RESTART_COUNT)
  bool store_is_external = false;  ///< somebody else serves the store at master_addr: rank 0 must not open one
  /// This process stands for a whole node (Volcano, NNODES, PET_NNODES): `flexor launch` starts its local_world ranks.
  /// rank is that of the node's first; with local_world == 1 the process may be that rank itself.
  bool is_node_level = false;
  std::vector<std::string> notes;  ///< warnings, for the log: variables that look like a launcher and are none

  bool is_parallel() const { return world > 1; }
};

/// What the variables mean. The first row whose rank and world exist wins: RANK and WORLD_SIZE (torchrun, accelerate,
/// DeepSpeed, PyTorchJob, ascend-operator), Open MPI, Slurm, MPICH and Intel MPI, HCCL's rank table; then those with
/// one process a node: PyTorchJob's PET_*, Volcano, NNODES by hand. Pure.
/// @throws Error(kConfig) naming the variable for one that is no number or out of range, for one that lacks its
///         partner, and for MASTER_ADDR where several nodes take part and nothing names the first
Launch resolve_launch(const Env& env);

/// resolve_launch(process_env()), for commands that are a single rank of it: notes go to the log.
/// @throws Error(kConfig) also where this process stands for several ranks of a node (see is_node_level)
Launch launch_of_process();

/// "gpu[07-08,11],login" -> gpu07, gpu08, gpu11, login, as Slurm writes node lists (several brackets in a name too).
/// @throws Error(kConfig) for text that is none; `where` names the variable
std::vector<std::string> expand_host_list(std::string_view list, const std::string& where);

/// "8(x2),4" -> 8, 8, 4, as Slurm counts the tasks of its nodes.
/// @param most  of each number  @throws Error(kConfig) for text that is none; `where` names the variable
std::vector<int64_t> expand_task_counts(const std::string& list, const std::string& where, int64_t most);

/// One line for people: "torchrun: rank 3 of 8, local rank 1 of 4 on node 0, store 10.0.0.1:29500".
std::string describe(const Launch& launch);

/// Variables that resolve_launch reads, for `flexor doctor`.
const std::vector<std::string>& launch_variables();

}  // namespace flexor::dist
