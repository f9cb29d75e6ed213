#include "cli/doctor_system.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <torch/headeronly/version.h>

#include "base/control_group.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "dist/cpu_mask.h"
#include "dist/topology.h"
#include "media/library_versions.h"
#include "table/library_version.h"

namespace flexor::cli {
namespace {

using State = DoctorItem::State;
namespace fs = std::filesystem;

/// The file that LibTorch was loaded from.
std::string libtorch_path() {
  Dl_info info{};
  const bool is_known =
      ::dladdr(reinterpret_cast<void*>(&at::get_num_threads), &info) != 0 && info.dli_fname != nullptr;
  std::error_code code;
  return is_known ? fs::weakly_canonical(info.dli_fname, code).string() : std::string();
}

/// "2.13.0+cpu" of the package around lib/libtorch_cpu.so; "" for a LibTorch without Python.
std::string loaded_torch_version(const std::string& library) {
  std::ifstream file(fs::path(library).parent_path().parent_path() / "version.py");
  for (std::string line; std::getline(file, line);) {
    if (const size_t quote = line.find('\''); line.starts_with("__version__") && quote != std::string::npos) {
      return line.substr(quote + 1, line.rfind('\'') - quote - 1);
    }
  }
  return {};
}

DoctorItem torch_item() {
  const std::string built = TORCH_VERSION, path = libtorch_path(), loaded = loaded_torch_version(path);
  DoctorItem item{.name = "LibTorch", .value = str_cat(loaded.empty() ? built : loaded, " in ", path)};
  if (!loaded.empty() && loaded.substr(0, loaded.find('+')) != built) {
    item.state = State::kProblem;
    item.value += str_cat(", but flexor was built with ", built);
    item.advice = "build again, or take that LibTorch out of LD_LIBRARY_PATH";
  }
  return item;
}

double meminfo_bytes(const std::string& key) {
  constexpr double kKiB = 1024;
  const std::string text = proc_value("/proc/meminfo", key);
  return text.empty() ? 0 : std::strtod(text.c_str(), nullptr) * kKiB;
}

std::string space_text(const std::string& folder) {
  struct statvfs space{};
  if (::statvfs(folder.c_str(), &space) != 0) {
    return folder + ": cannot be looked at";
  }
  const auto unit = static_cast<double>(space.f_frsize);
  return str_cat(human_bytes(static_cast<double>(space.f_bavail) * unit), " free of ",
                 human_bytes(static_cast<double>(space.f_blocks) * unit), " at ", folder);
}

DoctorItem open_files_item() {
  constexpr rlim_t kEnough = 1024;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const bool is_low = limit.rlim_cur < kEnough;
  return {.name = "open files",
          .value = limit.rlim_cur == RLIM_INFINITY ? "no limit" : str_cat("at most ", limit.rlim_cur),
          .state = is_low ? State::kWarning : State::kOk,
          .advice = is_low ? "datasets of many videos open hundreds: ulimit -n 4096" : ""};
}

DoctorItem threads_item(size_t num_cores, double allowed_cpus) {
  const int threads = at::get_num_threads();
  DoctorItem item{.name = "threads", .value = str_cat(threads, " for one operation")};
  const double room =
      allowed_cpus > 0 ? std::min(allowed_cpus, static_cast<double>(num_cores)) : static_cast<double>(num_cores);
  if (threads > room + 1) {
    item.state = State::kWarning;
    item.value += str_cat(", on ", short_number(room), " cores");
    item.advice = str_cat("threads=", static_cast<int64_t>(std::max(1.0, room)), ", or OMP_NUM_THREADS");
  }
  return item;
}

}  // namespace

std::string proc_value(const char* file, const std::string& key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(key)) {
      const size_t colon = line.find(':');
      return std::string(
          trim_text(std::string_view(line).substr(colon == std::string::npos ? line.size() : colon + 1)));
    }
  }
  return {};
}

DoctorSection program_section() {
  return {.name = "program",
          .items = {{.name = "flexor", .value = FLEXOR_VERSION},
                    {.name = "compiler", .value = str_cat("g++ ", __VERSION__)},
                    torch_item(),
                    {.name = "Arrow", .value = table::library_version()},
                    {.name = "FFmpeg", .value = media::library_versions()},
                    {.name = "hwloc", .value = str_cat("interface ", dist::hwloc_version())}}};
}

DoctorSection threads_section() {
  DoctorSection section{.name = "threads", .items = {}};
  const std::vector<int> allowed = dist::allowed_cpus();
  size_t num_cores = 0;
  try {
    const dist::Topology topology = dist::machine_topology(allowed);
    num_cores = topology.cores.size();
    std::map<int, std::vector<int>> cpus;
    for (const dist::Core& core : topology.cores) {
      cpus[core.numa_node].insert(cpus[core.numa_node].end(), core.cpus.begin(), core.cpus.end());
    }
    section.items.push_back(
        {.name = "cores",
         .value = str_cat(num_cores, " with ", allowed.size(), " hardware threads, as this process may use them")});
    for (auto& [node, list] : cpus) {
      std::ranges::sort(list);
      section.items.push_back(
          {.name = str_cat("NUMA node ", node), .value = str_cat("processors ", dist::cpu_ranges(list))});
    }
  } catch (const Error& error) {
    section.items.push_back(problem_item("cores", error));
    section.items.back().state = State::kWarning;
    num_cores = allowed.size();
  }
  const double quota = control_group().cpus;
  if (quota > 0) {
    section.items.push_back({.name = "control group", .value = str_cat("time of ", short_number(quota), " cores")});
  }
  section.items.push_back(threads_item(num_cores, quota));
  section.items.push_back(open_files_item());
  return section;
}

DoctorSection memory_section() {
  const ControlGroup group = control_group();
  DoctorSection section{.name = "memory", .items = {}};
  section.items.push_back({.name = "machine",
                           .value = str_cat(human_bytes(meminfo_bytes("MemAvailable")), " available of ",
                                            human_bytes(meminfo_bytes("MemTotal")))});
  section.items.push_back({.name = "swap", .value = human_bytes(meminfo_bytes("SwapTotal"))});
  section.items.push_back({.name = "control group",
                           .value = group.memory_limit > 0
                                        ? str_cat(human_bytes(static_cast<double>(group.memory_used)), " used of ",
                                                  human_bytes(static_cast<double>(group.memory_limit)))
                                        : "no limit"});
  return section;
}

DoctorSection disk_section() {
  std::error_code code;
  return {.name = "disk",
          .items = {{.name = "here", .value = space_text(fs::current_path(code).string())},
                    {.name = "temporary", .value = space_text(fs::temp_directory_path(code).string())}}};
}

DoctorSection numerics_section() {
  const bool is_full = at::globalContext().float32MatmulPrecision() == at::Float32MatmulPrecision::HIGHEST;
  return {.name = "numerics",
          .items = {{.name = "TF32",
                     .value = is_full ? "off: float32 products are float32" : "on: float32 products are rounded",
                     .state = is_full ? State::kOk : State::kWarning},
                    {.name = "deterministic",
                     .value = at::globalContext().deterministicAlgorithms() ? "on" : "off unless deterministic=true"}}};
}

}  // namespace flexor::cli
