#include "dist/variable_notes.h"

#include <algorithm>
#include <charconv>

#include "base/str_cat.h"

namespace flexor::dist {
namespace {

struct Known {
  const char *name, *meaning;
};

constexpr Known kKnown[] = {
    {"RANK", "launcher: number of this process"},
    {"WORLD_SIZE", "launcher: number of all processes"},
    {"LOCAL_RANK", "launcher: number of this process on its node, and of its device"},
    {"LOCAL_WORLD_SIZE", "launcher: processes on this node"},
    {"LOCAL_SIZE", "DeepSpeed: processes on this node"},
    {"GROUP_RANK", "torchrun: number of this node"},
    {"CROSS_RANK", "DeepSpeed: number of this node"},
    {"NODE_RANK", "number of this node"},
    {"NNODES", "number of nodes"},
    {"NPROC_PER_NODE", "ranks that flexor launch starts on each node"},
    {"MASTER_ADDR", "where the ranks meet: the node of rank 0"},
    {"MASTER_PORT", "where the ranks meet: its port"},
    {"TORCHELASTIC_RUN_ID", "torchrun: name of the job"},
    {"TORCHELASTIC_RESTART_COUNT", "torchrun: how often all ranks were started anew"},
    {"TORCHELASTIC_USE_AGENT_STORE", "torchrun: True if it serves the store itself"},
    {"TORCHELASTIC_ENABLE_FILE_TIMER", "torchrun: no effect on a native rank"},
    {"OMPI_COMM_WORLD_RANK", "Open MPI: number of this process"},
    {"OMPI_COMM_WORLD_SIZE", "Open MPI: number of all processes"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "Open MPI: number of this process on its node"},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "Open MPI: processes on this node"},
    {"PMI_RANK", "MPICH, Intel MPI: number of this process"},
    {"PMI_SIZE", "MPICH, Intel MPI: number of all processes"},
    {"MPI_LOCALRANKID", "MPICH, Intel MPI: number of this process on its node"},
    {"MPI_LOCALNRANKS", "MPICH, Intel MPI: processes on this node"},
    {"SLURM_JOB_ID", "Slurm: the job; decides the port where the ranks meet"},
    {"SLURM_JOB_NODELIST", "Slurm: nodes of the job; the ranks meet at the first"},
    {"SLURM_NTASKS", "Slurm: number of all processes"},
    {"SLURM_NTASKS_PER_NODE", "Slurm: processes on each node"},
    {"SLURM_TASKS_PER_NODE", "Slurm: processes on each node"},
    {"SLURM_PROCID", "Slurm: number of this process"},
    {"SLURM_LOCALID", "Slurm: number of this process on its node"},
    {"SLURM_NODEID", "Slurm: number of this node"},
    {"SLURM_STEP_ID", "Slurm: srun started this process"},
    {"RANK_ID", "HCCL's rank table: number of this process"},
    {"RANK_SIZE", "HCCL's rank table: number of all processes"},
    {"DEVICE_ID", "HCCL's rank table: device of this process"},
    {"PET_NNODES", "PyTorchJob: number of nodes"},
    {"PET_NODE_RANK", "PyTorchJob: number of this node"},
    {"PET_NPROC_PER_NODE", "PyTorchJob: ranks that flexor launch starts on each node"},
    {"PET_MASTER_ADDR", "PyTorchJob: where the ranks meet"},
    {"PET_MASTER_PORT", "PyTorchJob: where the ranks meet"},
    {"VC_TASK_INDEX", "Volcano: number of this node"},
    {"VK_TASK_INDEX", "Volcano: number of this node"},
    {"VC_WORKER_NUM", "Volcano: number of nodes"},
    {"VC_WORKER_HOSTS", "Volcano: the nodes; the ranks meet at the first"},
    {"GLOO_SOCKET_IFNAME", "network interface of the ranks' CPU traffic"},
    {"NCCL_SOCKET_IFNAME", "network interface of NCCL"},
    {"NCCL_DEBUG", "messages of NCCL"},
    {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL: 1 ends the process when a collective times out"},
    {"OMP_NUM_THREADS", "threads of one operation, where threads=N is not given"},
    {"OMP_WAIT_POLICY", "PASSIVE: waiting threads sleep; commands that compute set it unless it is set"},
    {"GOMP_SPINCOUNT", "how long waiting threads spin before they sleep"},
    {"OMP_PROC_BIND", "OpenMP pins its threads by itself"},
    {"MKL_NUM_THREADS", "threads of MKL"},
    {"KMP_AFFINITY", "Intel's OpenMP pins its threads by itself"},
    {"CUDA_VISIBLE_DEVICES", "CUDA devices to use"},
    {"CUDA_LAUNCH_BLOCKING", "1: errors appear where they happen, and nothing overlaps"},
    {"PYTORCH_CUDA_ALLOC_CONF", "CUDA's allocator"},
    {"NVIDIA_TF32_OVERRIDE", "0 forbids TF32 everywhere"},
    {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1: float32 products are rounded to TF32"},
    {"ASCEND_RT_VISIBLE_DEVICES", "Ascend devices to use"},
    {"ASCEND_TOOLKIT_HOME", "where CANN is"},
    {"HCCL_CONNECT_TIMEOUT", "seconds that all ranks have to connect (120)"},
    {"HCCL_EXEC_TIMEOUT",
     "seconds that a collective may take; more than the longest checkpoint or evaluation of one rank"},
    {"HCCL_BUFFSIZE", "MB of buffers for each communicator (200)"},
    {"HCCL_DETERMINISTIC", "true: sums do not depend on timing; for comparing runs"},
    {"HCCL_IF_IP", "address that HCCL uses on several nodes"},
    {"HCCL_SOCKET_IFNAME", "network interface of HCCL"},
    {"TASK_QUEUE_ENABLE", "Ascend's dispatch queue: 2 two stages, 1 one, 0 none"},
    {"CPU_AFFINITY_CONF", "torch_npu binds threads to cores"},
    {"COMBINED_ENABLE", "1: Ascend merges copies of tensors that are not contiguous"},
    {"PYTORCH_NPU_ALLOC_CONF", "Ascend's allocator; expandable_segments:True means less fragmentation"},
    {"ASCEND_LAUNCH_BLOCKING", "1: errors appear where they happen, and nothing overlaps"},
    {"ASCEND_GLOBAL_LOG_LEVEL", "messages of CANN: 0 debug to 3 errors"},
    {"ASCEND_SLOG_PRINT_TO_STDOUT", "1: CANN's messages on stdout"},
    {"INF_NAN_MODE_ENABLE", "0: overflow saturates instead of becoming infinite"},
    {"FLEXOR_BACKEND_PATH", "folders that are searched for device back ends"},
    {"FLEXOR_LIBPYTHON", "the Python library for torch_npu"},
    {"FLEXOR_TORCH", "the LibTorch that Flexor is built against"},
    {"LD_PRELOAD", "libraries that are loaded before all others"},
};

int64_t number(const std::string& text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// What to do about a value; "" if it is fine.
std::string advice(const std::string& name, const std::string& value, const VariableContext& context) {
  constexpr int64_t kManyRanks = 8, kPatience = 600;
  if (name == "CUDA_VISIBLE_DEVICES" && context.on_ascend) {
    return "it does nothing on Ascend: set ASCEND_RT_VISIBLE_DEVICES";
  }
  if (name == "OMP_NUM_THREADS" && value == "1" && context.local_world > 1 &&
      context.num_cores >= 2 * context.local_world) {
    return "torchrun sets 1 where nothing is set: give threads=N, or runtime.bind=coarse, which takes the rank's share "
           "of the cores";
  }
  if (name == "OMP_WAIT_POLICY" && value != "PASSIVE" && value != "passive") {
    return "waiting threads spin: on a machine that others use too, steps take several times as long";
  }
  if (name == "HCCL_CONNECT_TIMEOUT" && context.local_world >= kManyRanks && number(value) < kPatience) {
    return str_cat("with ", context.local_world, " ranks on a node 600 is safer: they load weights at different speed");
  }
  if ((name == "ASCEND_LAUNCH_BLOCKING" || name == "CUDA_LAUNCH_BLOCKING") && value == "1") {
    return "for debugging only: unset it for speed";
  }
  if (name == "TASK_QUEUE_ENABLE" && value == "0") {
    return "for debugging only: 2 is faster";
  }
  if (name == "INF_NAN_MODE_ENABLE" && value == "0") {
    return "leave it at 1: saturation hides overflow";
  }
  if (name == "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE" && value == "1") {
    return "float32 results differ from those of other devices: unset it to compare runs";
  }
  if (name == "CPU_AFFINITY_CONF" && value != "0") {
    return "runtime.bind replaces it, for decoding threads too; with runtime.bind set it is ignored";
  }
  return {};
}

}  // namespace

std::vector<VariableNote> explain_variables(const Env& env, const VariableContext& context) {
  std::vector<VariableNote> notes;
  const auto add = [&](const std::string& name, const std::string& meaning) {
    if (const auto value = env(name)) {
      notes.push_back({.name = name, .value = *value, .meaning = meaning, .advice = advice(name, *value, context)});
    }
  };
  for (const Known& known : kKnown) {
    add(known.name, known.meaning);
  }
  for (const std::string& name : launch_variables()) {
    if (std::ranges::none_of(kKnown, [&](const Known& known) { return known.name == name; })) {
      add(name, "launcher");
    }
  }
  return notes;
}

}  // namespace flexor::dist
