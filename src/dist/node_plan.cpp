#include "dist/node_plan.h"

#include <numeric>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "dist/hostfile.h"
#include "dist/launch_variables.h"

namespace flexor::dist {
namespace {

constexpr int64_t kUsualPort = 29500;  // torchrun's
constexpr int64_t kLastPort = 65535;

[[noreturn]] void refuse(const std::string& what, const std::string& where, const std::string& hint = {}) {
  throw Error(ErrorKind::kUsage, what, where, hint);
}

/// Node, address and port of the flags, over what was found elsewhere.
void take_flags(const NodeRequest& request, NodePlan& plan) {
  plan.node = request.node_rank.value_or(plan.node);
  if (plan.node >= plan.num_nodes()) {
    refuse(str_cat("expected a node from 0 to ", plan.num_nodes() - 1, ", found ", plan.node), "--node-rank");
  }
  if (!request.master_addr.empty()) {
    plan.master_addr = request.master_addr;
  }
  plan.master_port = request.master_port.value_or(plan.master_port);
}

/// A number for each node of --nproc's one or more.
std::vector<int64_t> ranks_of(const std::vector<int64_t>& nproc, int64_t num_nodes) {
  if (nproc.size() == 1) {
    return std::vector<int64_t>(static_cast<size_t>(num_nodes), nproc[0]);
  }
  if (static_cast<int64_t>(nproc.size()) != num_nodes) {
    refuse(str_cat("expected one number, or one for each of ", num_nodes, " nodes, found ", nproc.size()), "--nproc");
  }
  return nproc;
}

/// The port that a variable names, else `fallback`.
int64_t port_of(const Env& env, int64_t fallback) {
  const Variables v(env);
  return v.number(v.has("MASTER_PORT") ? "MASTER_PORT" : "PET_MASTER_PORT", fallback, 1, kLastPort);
}

NodePlan plan_by_hostfile(const NodeRequest& request, const Env& env, const LocalHost& local,
                          const Resolver& resolver) {
  const std::vector<HostSlots> hosts = read_hostfile(request.hostfile);
  NodePlan plan;
  for (const HostSlots& host : hosts) {
    plan.ranks.push_back(host.slots);
    plan.hosts.push_back(host.host);
  }
  if (request.nnodes && *request.nnodes != plan.num_nodes()) {
    refuse(str_cat("--nnodes says ", *request.nnodes, ", the hostfile names ", plan.num_nodes(), " hosts"),
           request.hostfile);
  }
  if (!request.nproc.empty() && ranks_of(request.nproc, plan.num_nodes()) != plan.ranks) {
    refuse(str_cat("--nproc says ", join_numbers(request.nproc, ","), ", the hostfile has other numbers of slots"),
           request.hostfile, "leave --nproc away");
  }
  plan.source = request.hostfile;
  plan.master_port = port_of(env, plan.num_nodes() > 1 ? kUsualPort : 0);
  if (plan.num_nodes() > 1) {
    plan.master_addr = env("MASTER_ADDR").value_or(plan.hosts[0]);
  }
  plan.node = request.node_rank ? *request.node_rank
                                : static_cast<int64_t>(find_local_host(hosts, local, resolver, request.hostfile));
  return plan;
}

NodePlan plan_by_flags(const NodeRequest& request, int64_t nnodes, const Env& env) {
  NodePlan plan{.ranks = ranks_of(request.nproc, nnodes), .hosts = {}, .source = "--nnodes"};
  plan.master_port = port_of(env, plan.num_nodes() > 1 ? kUsualPort : 0);
  if (plan.num_nodes() == 1) {
    return plan;
  }
  if (!request.node_rank) {
    refuse("the number of this node is missing", "--node-rank", "--node-rank 0 on the first node, 1 on the second");
  }
  plan.master_addr = env("MASTER_ADDR").value_or(env("PET_MASTER_ADDR").value_or(""));
  if (plan.master_addr.empty() && request.master_addr.empty()) {
    refuse("the address of the first node is missing", "--master-addr",
           "--master-addr HOST on every node, or set MASTER_ADDR");
  }
  return plan;
}

[[noreturn]] void refuse_rank(const Launch& launch) {
  throw Error(
      ErrorKind::kConfig,
      str_cat("flexor launch is started once on each node, but ", launch.launcher, " has started this process as rank ",
              launch.rank, " of ", launch.world, ", local rank ", launch.local_rank, " of ", launch.local_world),
      "environment", "run the command itself under that launcher, without flexor launch");
}

/// A batch script of Slurm has the variables of a rank, and is none: srun sets SLURM_STEP_ID.
bool is_batch_script(const Launch& launch, const Env& env) {
  if (launch.launcher != "slurm" || env("SLURM_STEP_ID")) {
    return false;
  }
  const std::string nodes = env("SLURM_NNODES").value_or(env("SLURM_JOB_NUM_NODES").value_or("1"));
  if (nodes != "1") {
    throw Error(
        ErrorKind::kConfig,
        str_cat("this is the batch script of a job of ", nodes, " nodes: flexor launch would wait here for the others"),
        "environment variable SLURM_STEP_ID", "srun --ntasks-per-node=1 flexor launch --nproc N -- ...");
  }
  return true;
}

/// Ranks a node, as the platform says it.
std::optional<int64_t> platform_ranks(const Launch& launch, const Env& env) {
  const bool is_said = env("NPROC_PER_NODE") || env("PET_NPROC_PER_NODE");
  return launch.is_node_level && is_said ? std::optional(launch.local_world) : std::nullopt;
}

/// What a platform says; one node if it says nothing.
NodePlan plan_by_platform(const NodeRequest& request, const Env& env) {
  Launch launch = resolve_launch(env);
  if (is_batch_script(launch, env)) {
    launch = {};
  }
  if (!launch.is_node_level && (launch.local_world > 1 || launch.local_rank > 0)) {
    refuse_rank(launch);
  }
  const bool one_rank_a_node = !launch.is_node_level && launch.world > 1;  // a pod, or srun with one task a node
  const int64_t num_nodes = one_rank_a_node ? launch.world : launch.num_nodes;
  std::vector<int64_t> nproc = request.nproc;
  if (const auto said = platform_ranks(launch, env); nproc.empty() && said) {
    nproc = {*said};
  }
  if (nproc.empty()) {
    refuse("the number of ranks is not known", "--nproc",
           "--nproc 8 starts eight ranks on this node; --hostfile names several nodes");
  }
  NodePlan plan{.ranks = ranks_of(nproc, num_nodes), .hosts = {}, .source = "--nproc"};
  if (static_cast<int64_t>(launch.hosts.size()) == num_nodes) {
    plan.hosts = launch.hosts;
  }
  plan.node = one_rank_a_node ? launch.rank : launch.node;
  plan.source = launch.launcher == "none" ? plan.source : launch.launcher;
  plan.master_port = num_nodes > 1 ? launch.master_port : port_of(env, 0);
  plan.master_addr = num_nodes > 1 ? launch.master_addr : plan.master_addr;
  return plan;
}

}  // namespace

int64_t NodePlan::world() const {
  return std::accumulate(ranks.begin(), ranks.end(), int64_t{0});
}

int64_t NodePlan::first_rank() const {
  return std::accumulate(ranks.begin(), ranks.begin() + node, int64_t{0});
}

NodePlan plan_nodes(const NodeRequest& request, const Env& env, const LocalHost& local, const Resolver& resolver) {
  if (request.nnodes && request.nproc.empty() && request.hostfile.empty()) {
    refuse("the number of ranks on each node is missing", "--nproc",
           "--nproc 8 for eight on each node, 8,4 for different ones");
  }
  NodePlan plan = !request.hostfile.empty() ? plan_by_hostfile(request, env, local, resolver)
                  : request.nnodes          ? plan_by_flags(request, *request.nnodes, env)
                                            : plan_by_platform(request, env);
  take_flags(request, plan);
  return plan;
}

}  // namespace flexor::dist
