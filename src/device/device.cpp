#include "device/device.h"

#include <ATen/Context.h>
#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "device/fused.h"
#include "tensor/tensor.h"

namespace flexor::device {
namespace {

constexpr const char* kCudaVariable = "CUDA_VISIBLE_DEVICES";

struct Choice {
  c10::Device device = c10::Device(c10::kCPU);
  const Backend* backend = nullptr;
};

Choice& the_choice() {
  static Choice choice;
  return choice;
}

/// The first accelerator that the driver sees and that has a back end; cpu without one.
std::string automatic(const Env& env) {
  for (const std::string name : {"cuda", "npu"}) {
    const int files = count_device_files(name);
    if (files == 0) {
      continue;
    }
    if (!find_backend(name, env).empty()) {
      return name;
    }
    log_warn("this machine has an accelerator, but its back end is not there: computing on the CPU",
             {{"device", name}, {"devices", files}, {"looked_for", str_cat("libflexor_", name, ".so")}});
  }
  return "cpu";
}

/// The back end that was not asked for by name.
const Backend& open_found(const std::string& name, const Env& env) {
  try {
    return open_backend(name, env);
  } catch (const Error& error) {
    throw Error(error.kind(), str_cat("device=auto found an accelerator: ", error.what()), error.where(),
                str_cat(error.hint(), error.hint().empty() ? "" : "; ", "or device=cpu"));
  }
}

/// " (CUDA_VISIBLE_DEVICES=0,1)" where it is set, for a message.
std::string visible_text(const Backend& backend, const Env& env) {
  const std::string variable = backend.visible_variable();
  const auto value = variable.empty() ? std::nullopt : env(variable);
  return value ? str_cat(" (", variable, "=", *value, ")") : std::string();
}

void warn_of_variables(const Backend& backend, const Env& env) {
  const std::string variable = backend.visible_variable();
  if (variable != kCudaVariable && env(kCudaVariable)) {
    log_warn(str_cat(kCudaVariable, " does nothing for ", backend.name(), " devices"),
             {{"found", *env(kCudaVariable)}, {"use", variable.empty() ? "nothing" : variable}});
  }
}

int64_t index_for(const Backend& backend, const Seat& seat, const Env& env) {
  const int64_t count = backend.device_count();
  const std::string& name = backend.name();
  if (count == 0) {
    throw Error(ErrorKind::kRuntime, str_cat("no ", name, " device is visible", visible_text(backend, env)), "device",
                "flexor doctor shows what the driver sees; device=cpu computes without one");
  }
  if (seat.local_rank < count) {
    return seat.local_rank;
  }
  const std::string variable = backend.visible_variable();
  if (count == 1 && !variable.empty() && env(variable)) {
    return 0;  // every process sees its own device
  }
  throw Error(ErrorKind::kRuntime,
              str_cat("local rank ", seat.local_rank, " has no device: ", count, " ", name,
                      count == 1 ? " device is" : " devices are", " visible", visible_text(backend, env), " to ",
                      seat.local_world, " ranks"),
              "device", str_cat("start ", count, count == 1 ? " rank" : " ranks", " a node"));
}

}  // namespace

std::string name_problem(const std::string& name, const Env& env) {
  if (name == "auto" || name == "cpu" || name == "cuda" || name == "npu") {
    return {};
  }
  const bool is_word = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_';
  });
  if (is_word && !find_backend(name, env).empty()) {
    return {};
  }
  return str_cat("expected auto, cpu, cuda or npu, found '", name, "'");
}

const c10::Device& choose(const std::string& name, const Seat& seat, const Env& env) {
  const std::string wanted = name == "auto" ? automatic(env) : name;
  Choice& choice = the_choice();
  if (wanted == "cpu") {
    choice = Choice();
    try_fused_ops();
    return choice.device;
  }
  const Backend& backend = name == "auto" ? open_found(wanted, env) : open_backend(wanted, env);
  warn_of_variables(backend, env);
  const int64_t index = index_for(backend, seat, env);
  backend.set_device(index);
  const c10::Device device(str_cat(wanted, ":", index));
  if (choice.backend != nullptr && choice.device == device) {
    return choice.device;
  }
  choice = {device, &backend};
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setAllowTF32CuDNN(false);
  try_fused_ops();
  const Memory figures = backend.memory(index);
  log_info("device", {{"name", describe_current()},
                      {"memory_free", human_bytes(static_cast<double>(figures.free))},
                      {"memory", human_bytes(static_cast<double>(figures.total))}});
  if (!backend.cpu_ops().empty()) {
    log_info("operators that the CPU computes for the device, if they are used",
             {{"ops", join_text(backend.cpu_ops(), ",")}});
  }
  return choice.device;
}

const c10::Device& current() {
  return the_choice().device;
}

const Backend* current_backend() {
  return the_choice().backend;
}

std::string describe_current() {
  const Choice& choice = the_choice();
  return choice.backend == nullptr
             ? "cpu"
             : str_cat(choice.device.str(), ", ", choice.backend->describe(choice.device.index()));
}

std::string physical_id(const Env& env) {
  const Choice& choice = the_choice();
  if (choice.backend == nullptr) {
    return {};
  }
  const auto index = static_cast<size_t>(choice.device.index());
  const std::string variable = choice.backend->visible_variable();
  const auto shown = variable.empty() ? std::nullopt : env(variable);
  const std::vector<std::string> ids = split_text(shown.value_or(""), ',');
  return shown && index < ids.size() ? std::string(trim_text(ids[index])) : std::to_string(index);
}

std::optional<Memory> memory() {
  const Choice& choice = the_choice();
  return choice.backend == nullptr ? std::nullopt : std::optional(choice.backend->memory(choice.device.index()));
}

void reset_peak() {
  if (const Choice& choice = the_choice(); choice.backend != nullptr) {
    choice.backend->reset_peak(choice.device.index());
  }
}

void synchronize() {
  if (const Choice& choice = the_choice(); choice.backend != nullptr) {
    choice.backend->synchronize(choice.device.index());
  }
}

Tensor place(const Tensor& tensor, const c10::Device& device) {
  if (!tensor.defined() || tensor.device() == device) {
    return tensor;
  }
  const Backend* backend = opened_backend();
  const bool can_pin = tensor.is_cpu() && backend != nullptr && backend->has_pinned_memory() && tensor.numel() > 0;
  const Tensor source = can_pin ? tensor.pin_memory() : tensor;
  return source.to(device, source.scalar_type(), /*non_blocking=*/can_pin);
}

}  // namespace flexor::device
