#include "dist/launch_env.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "dist/launch_variables.h"

namespace flexor::dist {
namespace {

constexpr int64_t kDefaultPort = 29500, kMaxPort = 65535;
constexpr int64_t kSlurmFirstPort = 20000, kSlurmPorts = 20000, kMostTasks = 1'000'000;

/// Variables of launchers that start every rank. Null where there is none.
struct RankRow {
  const char *launcher, *rank, *world, *local_rank, *local_world, *node;
};

constexpr RankRow kRankRows[] = {
    {"env", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK"},
    {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr},  // its NODE_RANK is a rank on the node
    {"slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE", "SLURM_NODEID"},
    {"mpich", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", nullptr},
    {"ranktable", "RANK_ID", "RANK_SIZE", "DEVICE_ID", nullptr, nullptr},
};

/// RANK and WORLD_SIZE come from many; what else is set tells them apart.
std::string launcher_of_env(const Variables& v) {
  const std::pair<const char*, const char*> kSigns[] = {
      {"TORCHELASTIC_RUN_ID", "torchrun"}, {"GROUP_RANK", "torchrun"},       {"CROSS_RANK", "deepspeed"},
      {"LOCAL_SIZE", "deepspeed"},         {"NODE_RANK", "ascend-operator"}, {"PET_NNODES", "pytorchjob"}};
  for (const auto& [name, launcher] : kSigns) {
    if (v.has(name)) {
      return launcher;
    }
  }
  return "env";
}

/// The number of the node's place, 1 where the list has none.
int64_t tasks_on_node(const Variables& v, const char* name, int64_t node) {
  const std::vector<int64_t> tasks =
      expand_task_counts(v.text(name), str_cat("environment variable ", name), kMostTasks);
  return node < static_cast<int64_t>(tasks.size()) ? tasks[static_cast<size_t>(node)] : 1;
}

int64_t local_world(const RankRow& row, const Variables& v, const Launch& launch) {
  int64_t found = row.local_world != nullptr ? v.number(row.local_world, 0, 1) : 0;
  if (found == 0 && launch.launcher != "slurm") {
    found = row.rank == std::string("RANK") ? v.number("LOCAL_SIZE", 0, 1) : 0;  // DeepSpeed's name
  }
  for (const char* name : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}) {
    if (found == 0 && launch.launcher == "slurm" && v.has(name)) {
      found = tasks_on_node(v, name, launch.node);
    }
  }
  return std::max(found, launch.local_rank + 1);
}

void check_rank(const Launch& launch, const RankRow& row) {
  if (launch.rank >= launch.world) {
    throw Error(ErrorKind::kConfig,
                str_cat("expected a rank below ", row.world, "=", launch.world, ", found ", launch.rank),
                str_cat("environment variable ", row.rank));
  }
}

Launch read_row(const RankRow& row, const Variables& v) {
  Launch launch;
  const bool is_env = std::string(row.rank) == "RANK";
  launch.launcher = is_env ? launcher_of_env(v) : row.launcher;
  launch.rank = v.number(row.rank, 0, 0);
  launch.world = v.number(row.world, 1, 1);
  check_rank(launch, row);
  launch.local_rank = v.number(row.local_rank, 0, 0);
  const char* node = row.node;
  if (is_env && !v.has("GROUP_RANK")) {
    node = v.has("CROSS_RANK") ? "CROSS_RANK" : "NODE_RANK";
  }
  const bool has_node = node != nullptr && v.has(node);
  launch.node = has_node ? v.number(node, 0, 0) : 0;
  launch.local_world = local_world(row, v, launch);
  if (launch.local_world > launch.world) {
    throw Error(
        ErrorKind::kConfig,
        str_cat("expected at most ", row.world, "=", launch.world, " ranks on a node, found ", launch.local_world),
        str_cat("environment variable ", row.local_world != nullptr ? row.local_world : row.local_rank));
  }
  if (!has_node) {
    launch.node = launch.rank / launch.local_world;
  }
  launch.num_nodes = std::max(launch.node + 1, (launch.world + launch.local_world - 1) / launch.local_world);
  if (launch.launcher == "slurm") {
    for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
      if (launch.hosts.empty() && v.has(name)) {
        launch.hosts = expand_host_list(v.text(name), str_cat("environment variable ", name));
      }
    }
  }
  return launch;
}

/// One process stands for a node.
Launch node_level(const Variables& v, const char* launcher, const char* node, const char* nodes, const char* ranks) {
  Launch launch;
  launch.launcher = launcher;
  launch.is_node_level = true;
  launch.node = v.number(node, 0, 0);
  launch.num_nodes = v.number(nodes, 1, 1);
  const std::string per_node = v.has(ranks) ? v.text(ranks) : "1";
  const bool is_word = per_node == "auto" || per_node == "gpu" || per_node == "cpu";  // torchrun's
  if (is_word) {
    launch.notes.push_back(
        str_cat(ranks, "=", per_node, " counts as one rank a node; flexor launch --nproc N sets it"));
  }
  launch.local_world = is_word ? 1 : v.number(ranks, 1, 1);
  if (launch.node >= launch.num_nodes) {
    throw Error(ErrorKind::kConfig,
                str_cat("expected a node below ", nodes, "=", launch.num_nodes, ", found ", launch.node),
                str_cat("environment variable ", node));
  }
  launch.world = launch.num_nodes * launch.local_world;
  launch.rank = launch.node * launch.local_world;
  return launch;
}

/// A pod of several ranks: the operator gives it RANK too, which is the pod's.
bool is_pod_of_many(const Variables& v) {
  return v.has("PET_NNODES") && v.has("PET_NPROC_PER_NODE") && v.text("PET_NPROC_PER_NODE") != "1" &&
         !v.has("LOCAL_RANK");
}

Launch find_row(const Variables& v) {
  if (!is_pod_of_many(v)) {
    for (const RankRow& row : kRankRows) {
      if (v.has(row.rank) && v.has(row.world)) {
        return read_row(row, v);
      }
    }
  }
  if (v.has("PET_NNODES")) {
    return node_level(v, "pytorchjob", "PET_NODE_RANK", "PET_NNODES", "PET_NPROC_PER_NODE");
  }
  for (const char* index : {"VC_TASK_INDEX", "VK_TASK_INDEX"}) {
    if (v.has(index) && v.has("VC_WORKER_NUM")) {
      Launch launch = node_level(v, "volcano", index, "VC_WORKER_NUM", "NPROC_PER_NODE");
      launch.hosts = expand_host_list(v.text("VC_WORKER_HOSTS"), "environment variable VC_WORKER_HOSTS");
      return launch;
    }
  }
  if (v.has("NNODES")) {
    if (v.number("NNODES", 1, 1) > 1 && !v.has("NODE_RANK")) {
      v.refuse_missing("NODE_RANK", "NNODES");
    }
    return node_level(v, "hand", "NODE_RANK", "NNODES", "NPROC_PER_NODE");
  }
  return {};
}

/// Half a row is a mistake of the one who started it, or a shell inside an allocation.
void check_halves(const Variables& v, Launch& launch) {
  if (v.has("WORLD_SIZE") && v.number("WORLD_SIZE", 1, 1) > 1) {
    v.refuse_missing("RANK", "WORLD_SIZE");
  }
  if (v.has("RANK") && !v.has("WORLD_SIZE") && v.number("RANK", 0, 0) > 0) {
    v.refuse_missing("WORLD_SIZE", "RANK");
  }
  if (v.has("SLURM_NTASKS") && v.number("SLURM_NTASKS", 1, 1) > 1) {
    launch.notes.push_back(str_cat("SLURM_NTASKS is ", v.text("SLURM_NTASKS"),
                                   " and SLURM_PROCID is not set: this process is alone; srun starts all ranks"));
  }
}

/// Who must say where the first rank is. Slurm and Volcano name their hosts; one node needs no name.
void find_master(const Variables& v, Launch& launch) {
  const bool pet = launch.launcher == "pytorchjob";
  const char* addr = pet && !v.has("MASTER_ADDR") && v.has("PET_MASTER_ADDR") ? "PET_MASTER_ADDR" : "MASTER_ADDR";
  const char* port = pet && !v.has("MASTER_PORT") && v.has("PET_MASTER_PORT") ? "PET_MASTER_PORT" : "MASTER_PORT";
  if (v.has(addr)) {
    launch.master_addr = v.text(addr);
  } else if (!launch.hosts.empty()) {
    launch.master_addr = launch.hosts.front();
  } else if (launch.world > launch.local_world) {
    throw Error(ErrorKind::kConfig,
                str_cat("expected the address of the node of rank 0, found none; ", launch.launcher, " gives ",
                        launch.world, " ranks, ", launch.local_world, " of them known to be on this node"),
                "environment variable MASTER_ADDR", "export MASTER_ADDR=HOST for all ranks");
  }
  int64_t fallback = kDefaultPort;
  if (launch.launcher == "slurm" && v.has("SLURM_JOB_ID")) {
    fallback = kSlurmFirstPort + v.number("SLURM_JOB_ID", 0, 0) % kSlurmPorts;
  }
  launch.master_port = v.number(port, fallback, 1, kMaxPort);
}

}  // namespace

Env process_env() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
  };
}

Launch resolve_launch(const Env& env) {
  const Variables v(env);
  Launch launch = find_row(v);
  if (launch.launcher == "none") {
    check_halves(v, launch);
    return launch;
  }
  find_master(v, launch);
  launch.restart = v.number("TORCHELASTIC_RESTART_COUNT", 0, 0);
  launch.store_is_external = v.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  return launch;
}

Launch launch_of_process() {
  Launch launch = resolve_launch(process_env());
  if (launch.is_node_level && launch.local_world > 1) {
    throw Error(ErrorKind::kConfig,
                str_cat("this process stands for the ", launch.local_world, " ranks of node ", launch.node, " (",
                        launch.launcher, ")"),
                "launch", "flexor launch -- flexor ... starts them");
  }
  for (const std::string& note : launch.notes) {
    log_warn(note);
  }
  return launch;
}

std::string describe(const Launch& launch) {
  if (launch.launcher == "none") {
    return "no launcher: rank 0 of 1";
  }
  return str_cat(launch.launcher, ": rank ", launch.rank, " of ", launch.world, ", local rank ", launch.local_rank,
                 " of ", launch.local_world, " on node ", launch.node, ", store ", launch.master_addr, ":",
                 launch.master_port, launch.store_is_external ? " (served by the launcher)" : "");
}

const std::vector<std::string>& launch_variables() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const RankRow& row : kRankRows) {
      for (const char* name : {row.rank, row.world, row.local_rank, row.local_world, row.node}) {
        if (name != nullptr) {
          list.emplace_back(name);
        }
      }
    }
    for (const char* name : {"LOCAL_SIZE",
                             "CROSS_RANK",
                             "NODE_RANK",
                             "NNODES",
                             "NPROC_PER_NODE",
                             "MASTER_ADDR",
                             "MASTER_PORT",
                             "SLURM_STEP_NODELIST",
                             "SLURM_JOB_NODELIST",
                             "SLURM_NODELIST",
                             "SLURM_STEP_TASKS_PER_NODE",
                             "SLURM_TASKS_PER_NODE",
                             "SLURM_JOB_ID",
                             "PET_NNODES",
                             "PET_NPROC_PER_NODE",
                             "PET_NODE_RANK",
                             "PET_MASTER_ADDR",
                             "PET_MASTER_PORT",
                             "VC_TASK_INDEX",
                             "VK_TASK_INDEX",
                             "VC_WORKER_NUM",
                             "VC_WORKER_HOSTS",
                             "TORCHELASTIC_RUN_ID",
                             "TORCHELASTIC_RESTART_COUNT",
                             "TORCHELASTIC_USE_AGENT_STORE",
                             "GLOO_SOCKET_IFNAME"}) {
      list.emplace_back(name);
    }
    return list;
  }();
  return names;
}

}  // namespace flexor::dist
