#include "device/backend.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <array>
#include <c10/core/Device.h>
#include <memory>
#include <span>
#include <torch/headeronly/version.h>

#include "base/error.h"
#include "base/str_cat.h"
#include "device/backend_library.h"
#include "device/backend_plugin.h"
#include "device/cpu_ops.h"

namespace flexor::device {
namespace {

constexpr size_t kMessage = 2048;

/// Calls a function of the table; its message becomes an Error.
template <typename Function, typename... Args>
void call(const std::string& name, const char* what, Function function, Args... args) {
  std::array<char, kMessage> message{};
  if (function(args..., message.data(), message.size()) != 0) {
    message.back() = '\0';
    throw Error(ErrorKind::kRuntime, str_cat("device ", name, ": ", what, ": ", message.data()), "device back end",
                "flexor doctor shows the device; device=cpu computes without it");
  }
}

const char* use_name(int32_t use) {
  constexpr std::array kNames = {"adamw", "rms_norm", "rope", "attention", "geglu"};
  return use >= 0 && static_cast<size_t>(use) < kNames.size() ? kNames.at(static_cast<size_t>(use)) : "unknown";
}

std::unique_ptr<Backend>& the_backend() {
  static auto* backend = new std::unique_ptr<Backend>;  // outlives what runs at exit
  return *backend;
}

std::string text_or_empty(const char* text) {
  return text != nullptr ? text : "";
}

}  // namespace

Backend::Backend(std::string name, std::string path, const flexor_backend* table)
    : name_(std::move(name)), path_(std::move(path)), table_(table) {}

std::string Backend::collective() const {
  return text_or_empty(table_->collective);
}

std::string Backend::visible_variable() const {
  return text_or_empty(table_->visible_variable);
}

bool Backend::has_pinned_memory() const {
  return table_->has_pinned_memory != 0;
}

int64_t Backend::device_count() const {
  int32_t count = 0;
  call(name_, "devices cannot be counted", table_->device_count, &count);
  return count;
}

void Backend::set_device(int64_t index) const {
  call(name_, "a device cannot be chosen", table_->set_device, static_cast<int32_t>(index));
}

void Backend::synchronize(int64_t index) const {
  call(name_, "the device failed", table_->synchronize, static_cast<int32_t>(index));
}

std::string Backend::describe(int64_t index) const {
  flexor_backend_device device{};
  call(name_, "a device cannot be described", table_->describe, static_cast<int32_t>(index), &device);
  device.name[sizeof device.name - 1] = device.capability[sizeof device.capability - 1] = '\0';
  const std::string capability = device.capability;
  return str_cat(device.name, capability.empty() ? "" : " (" + capability + ")",
                 device.has_bf16 != 0 ? "" : ", no bfloat16 in hardware");
}

Memory Backend::memory(int64_t index) const {
  flexor_backend_memory m{-1, -1, -1, -1, -1, -1};
  call(name_, "its memory cannot be read", table_->memory, static_cast<int32_t>(index), &m);
  return {.allocated = m.allocated,
          .reserved = m.reserved,
          .peak_allocated = m.peak_allocated,
          .peak_reserved = m.peak_reserved,
          .free = m.free,
          .total = m.total};
}

void Backend::reset_peak(int64_t index) const {
  call(name_, "the peak of its memory cannot be reset", table_->reset_peak, static_cast<int32_t>(index));
}

std::vector<BackendNote> Backend::notes() const {
  const flexor_backend_note* notes = nullptr;
  size_t count = 0;
  call(name_, "its versions cannot be read", table_->notes, &notes, &count);
  std::vector<BackendNote> result;
  for (const flexor_backend_note& note : std::span(notes, count)) {
    result.push_back({text_or_empty(note.name), text_or_empty(note.value), text_or_empty(note.problem)});
  }
  return result;
}

std::vector<FusedOp> Backend::fused_ops() const {
  const c10::DispatchKey key = dispatch_key_of(c10::Device(name_ + ":0").type());
  std::vector<FusedOp> ops;
  for (const flexor_backend_fused& fused : std::span(table_->fused, table_->num_fused)) {
    const auto schema = c10::Dispatcher::singleton().findSchema({text_or_empty(fused.op), ""});
    const bool is_there = schema && (schema->hasKernelForDispatchKey(key) ||
                                     schema->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd));
    ops.push_back({use_name(fused.use), text_or_empty(fused.op), is_there});
  }
  return ops;
}

c10d::Backend* Backend::new_group(c10d::Store& store, const GroupPlan& plan) const {
  if (table_->new_group == nullptr) {
    throw Error(ErrorKind::kRuntime, str_cat("the back end of ", name_, " has no collectives: one rank only"), path_,
                "device=cpu trains on several ranks");
  }
  c10d::Backend* group = nullptr;
  call(name_, str_cat("no group of ranks by ", collective()).c_str(), table_->new_group, &store,
       static_cast<int32_t>(plan.rank), static_cast<int32_t>(plan.world), plan.ranks.data(),
       static_cast<int32_t>(plan.device), plan.name.c_str(), plan.timeout_ms, &group);
  return group;
}

void Backend::shutdown() const noexcept {
  table_->shutdown();
}

const Backend* opened_backend() {
  return the_backend().get();
}

const Backend& open_backend(const std::string& name, const Env& env) {
  std::unique_ptr<Backend>& opened = the_backend();
  if (opened) {
    if (opened->name() != name) {
      throw Error(ErrorKind::kRuntime,
                  str_cat("device ", name, ": this process computes on ", opened->name(), " already"), "device");
    }
    return *opened;
  }
  std::string path;
  const flexor_backend* table = load_backend_library(name, env, path);
  call(name, "it does not start", table->init);
  std::unique_ptr<Backend> backend(new Backend(name, path, table));
  const c10::DeviceType type = c10::Device(name + ":0").type();
  const std::span<const char* const> ops(table->fallback_ops, table->num_fallback_ops);
  backend->cpu_ops_ = leave_to_cpu(name, type, {ops.begin(), ops.end()});
  opened = std::move(backend);
  return *opened;
}

}  // namespace flexor::device
