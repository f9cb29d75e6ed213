#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dist/launch_env.h"
#include "dist/local_host.h"

namespace flexor::dist {

/// What the flags of `flexor launch` say about the nodes; empty: they do not.
struct NodeRequest {
  std::vector<int64_t> nproc = {};  ///< ranks of each node; one number: of all
  std::string hostfile = {};
  std::optional<int64_t> nnodes = {}, node_rank = {}, master_port = {};
  std::string master_addr = {};
};

/// Which ranks run on which node, and where they meet.
struct NodePlan {
  std::vector<int64_t> ranks;      ///< of each node, in the order of the nodes
  std::vector<std::string> hosts;  ///< their names, where they are known
  int64_t node = 0;                ///< this one
  std::string master_addr = "127.0.0.1";
  int64_t master_port = 0;  ///< 0: any free port, for a single node
  std::string source;       ///< for people: "--nproc", the hostfile, "volcano"

  int64_t num_nodes() const { return static_cast<int64_t>(ranks.size()); }
  int64_t world() const;
  int64_t local_world() const { return ranks[static_cast<size_t>(node)]; }
  int64_t first_rank() const;  ///< of this node
};

/// The nodes by the flags, else by the hostfile, else by what a platform set for a process that stands for a node
/// (Volcano, PET_NNODES, NNODES, Slurm with one task a node, a pod of a PyTorchJob). Flags beat variables.
/// @throws Error(kUsage) for flags that contradict each other or if the number of ranks is not known, Error(kConfig)
///         for variables, or if this process is one of several ranks of a node already, Error(kFile) for the hostfile
NodePlan plan_nodes(const NodeRequest& request, const Env& env, const LocalHost& local, const Resolver& resolver);

}  // namespace flexor::dist
