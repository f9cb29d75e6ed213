#include "device/cpu_ops.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/CPUFallback.h>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <torch/library.h>

#include "base/log.h"
#include "base/str_cat.h"

namespace flexor::device {
namespace {

/// What was used, and by which device; for the log.
struct Used {
  std::mutex mutex;
  std::string device;
  std::set<std::string> ops;
};

Used& used() {
  static auto* all = new Used;
  return *all;
}

std::string full_name(const c10::OperatorName& name) {
  return name.overload_name.empty() ? name.name : str_cat(name.name, ".", name.overload_name);
}

void note_use(const std::string& op) {
  Used& all = used();
  const std::lock_guard lock(all.mutex);
  if (all.ops.insert(op).second) {
    log_warn("the device has no kernel for an operator: the CPU computes it", {{"device", all.device}, {"op", op}});
  }
}

void compute_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  note_use(full_name(op.operator_name()));
  at::native::cpu_fallback(op, stack);
}

/// Registrations last as long as their library does.
torch::Library& library_of(const std::string& space, c10::DispatchKey key) {
  static auto* libraries = new std::map<std::string, std::unique_ptr<torch::Library>>;
  auto& library = (*libraries)[space];
  if (!library) {
    library = std::make_unique<torch::Library>(torch::Library::IMPL, space, key, "device/cpu_ops.cpp", __LINE__);
  }
  return *library;
}

}  // namespace

c10::DispatchKey dispatch_key_of(c10::DeviceType type) {
  return c10::computeDispatchKey(std::nullopt, std::nullopt, c10::Device(type));
}

std::vector<std::string> leave_to_cpu(const std::string& device, c10::DeviceType type,
                                      const std::vector<std::string>& ops) {
  used().device = device;
  const c10::DispatchKey key = dispatch_key_of(type);
  std::vector<std::string> given;
  for (const std::string& op : ops) {
    const size_t colons = op.find("::"), dot = op.find('.', colons == std::string::npos ? 0 : colons);
    const c10::OperatorName name{op.substr(0, dot), dot == std::string::npos ? "" : op.substr(dot + 1)};
    const auto schema = c10::Dispatcher::singleton().findSchema(name);
    if (colons == std::string::npos || !schema || schema->hasKernelForDispatchKey(key)) {
      continue;
    }
    library_of(op.substr(0, colons), key)
        .impl(op.substr(colons + 2).c_str(), torch::CppFunction::makeFromBoxedFunction<&compute_on_cpu>());
    given.push_back(op);
  }
  return given;
}

std::vector<std::string> used_cpu_ops() {
  Used& all = used();
  const std::lock_guard lock(all.mutex);
  return {all.ops.begin(), all.ops.end()};
}

}  // namespace flexor::device
