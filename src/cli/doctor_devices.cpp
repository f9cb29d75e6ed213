#include "cli/doctor_devices.h"

#include <ATen/Version.h>
#include <algorithm>
#include <torch/headeronly/version.h>

#include "base/str_cat.h"
#include "base/text.h"
#include "cli/doctor_system.h"
#include "device/backend.h"
#include "device/backend_search.h"

namespace flexor::cli {
namespace {

using State = DoctorItem::State;

DoctorItem cpu_item() {
  const std::string model = proc_value("/proc/cpuinfo", "model name");
  std::string features = " " + proc_value("/proc/cpuinfo", "flags") + proc_value("/proc/cpuinfo", "Features") + " ";
  const bool has_bf16 = features.find("bf16 ") != std::string::npos;
  return {.name = "cpu",
          .value = str_cat(
              model.empty() ? "processor" : model, ", kernels for ", at::get_cpu_capability(),
              has_bf16 ? ", bfloat16 instructions" : ", no bfloat16 instructions: bfloat16 saves memory, not time")};
}

DoctorItem cann_item(const device::Env& env, bool has_devices) {
  const std::string missing = join_text(device::missing_cann_libraries(env), ", ");
  DoctorItem item{.name = "npu needs",
                  .value = str_cat("torch_npu ", TORCH_VERSION, " beside LibTorch ", TORCH_VERSION, ", and of CANN ",
                                   join_text(device::cann_libraries(), ", "))};
  if (has_devices && !missing.empty()) {
    item.state = State::kWarning;
    item.advice = str_cat("not found: ", missing, "; source CANN's set_env.sh");
  }
  return item;
}

std::string memory_text(const device::Memory& memory) {
  return memory.total < 0 ? std::string()
                          : str_cat(", ", human_bytes(static_cast<double>(memory.free)), " free of ",
                                    human_bytes(static_cast<double>(memory.total)));
}

/// Devices, versions and operators of a back end that was opened.
void add_opened(const device::Backend& backend, DoctorSection& section) {
  const std::string& name = backend.name();
  const int64_t count = backend.device_count();
  section.items.push_back({.name = name,
                           .value = str_cat(count, count == 1 ? " device by " : " devices by ", backend.path()),
                           .state = count > 0 ? State::kOk : State::kWarning,
                           .advice = count > 0 ? "" : "the back end sees no device: driver, container, variables"});
  for (int64_t i = 0; i < count; ++i) {
    section.items.push_back(
        {.name = str_cat(name, ":", i), .value = backend.describe(i) + memory_text(backend.memory(i))});
  }
  for (const device::BackendNote& note : backend.notes()) {
    section.items.push_back({.name = note.name,
                             .value = note.value,
                             .state = note.problem.empty() ? State::kOk : State::kWarning,
                             .advice = note.problem});
  }
  const std::string collective = backend.collective();
  section.items.push_back(
      {.name = name + " ranks", .value = collective.empty() ? "one only" : "talk by " + collective});
  std::vector<std::string> fused;
  for (const device::FusedOp& op : backend.fused_ops()) {
    fused.push_back(str_cat(op.use, " ", op.op, op.is_there ? "" : " (not there)"));
  }
  section.items.push_back({.name = name + " fused", .value = fused.empty() ? "nothing" : join_text(fused, ", ")});
  if (!backend.cpu_ops().empty()) {
    section.items.push_back({.name = name + " on cpu",
                             .value = str_cat("no kernel, if they are used: ", join_text(backend.cpu_ops(), ", "))});
  }
}

DoctorItem failed_item(const std::string& name, const std::string& devices, const Error& error) {
  const std::string where = error.where().empty() ? std::string() : error.where() + ": ";
  return {.name = name, .value = devices + where + error.what(), .state = State::kWarning, .advice = error.hint()};
}

void add_backend(const std::string& name, const device::Env& env, DoctorSection& section) {
  const int files = device::count_device_files(name);
  const std::string devices = files > 0 ? str_cat(files, " device files in /dev, ") : "";
  const std::string path = device::find_backend(name, env);
  const device::Backend* opened = device::opened_backend();
  if (path.empty()) {
    section.items.push_back(
        {.name = name,
         .value = str_cat(devices, "no libflexor_", name, ".so in ", join_text(device::backend_folders(env), ", ")),
         .state = files > 0 ? State::kWarning : State::kOk,
         .advice = files > 0 ? str_cat("this machine computes on the CPU only: put libflexor_", name,
                                       ".so beside the program, or set FLEXOR_BACKEND_PATH")
                             : ""});
  } else if (opened != nullptr && opened->name() != name) {
    section.items.push_back({.name = name, .value = str_cat(path, ", not tried: a process opens one back end")});
  } else {
    try {
      add_opened(device::open_backend(name, env), section);
    } catch (const Error& error) {
      section.items.push_back(failed_item(name, devices, error));
    }
  }
}

}  // namespace

DoctorSection devices_section(const dist::Env& env) {
  DoctorSection section{.name = "devices", .items = {cpu_item()}};
  std::vector<std::string> names = device::backend_names(env);
  std::ranges::stable_sort(names, std::greater(),
                           [](const std::string& name) { return device::count_device_files(name); });
  for (const std::string& name : names) {
    add_backend(name, env, section);
    if (name == "npu") {
      section.items.push_back(cann_item(env, device::count_device_files(name) > 0));
    }
  }
  return section;
}

}  // namespace flexor::cli
