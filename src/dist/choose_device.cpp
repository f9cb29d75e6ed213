#include "dist/choose_device.h"

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "device/device.h"
#include "dist/launch_env.h"

namespace flexor::dist {

namespace {

/// What to do about a name that is none.
std::string name_advice(const std::string& name) {
  const std::string near = nearest(name, {"auto", "cpu", "cuda", "npu"});
  return near.empty() ? str_cat("libflexor_", name, ".so is in none of the folders of FLEXOR_BACKEND_PATH")
                      : str_cat("did you mean '", near, "'?");
}

}  // namespace

config::FieldSpec& add_device_key(config::FieldTable& table, std::string& value) {
  return table("device", value, "where models compute: auto, cpu, cuda, npu, or NAME for a libflexor_NAME.so");
}

config::FieldSpec& add_device_flag(config::FieldTable& table, std::string& value) {
  config::FieldSpec& spec = add_device_key(table, value);
  spec.read = [&value](const config::Value& read) {
    const auto name = config::Codec<std::string>::read(read);
    const std::string problem = device::name_problem(name, process_env());
    if (!problem.empty()) {
      throw Error(ErrorKind::kConfig, problem, {}, name_advice(name));
    }
    value = name;
  };
  return spec;
}

std::optional<config::Finding> device_finding(const std::string& name) {
  const std::string problem = device::name_problem(name, process_env());
  if (problem.empty()) {
    return std::nullopt;
  }
  return config::Finding{"device", str_cat("'device': ", problem), "", name_advice(name)};
}

const c10::Device& choose_device(const std::string& name) {
  if (const auto finding = device_finding(name)) {
    throw Error(ErrorKind::kConfig, finding->what, finding->where, finding->hint);
  }
  const Env env = process_env();
  const Launch launch = resolve_launch(env);
  return device::choose(name, {.local_rank = launch.local_rank, .local_world = launch.local_world}, env);
}

}  // namespace flexor::dist
