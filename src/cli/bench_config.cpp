#include "cli/bench_config.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "cli/policy_folder.h"
#include "dist/choose_device.h"

namespace flexor::cli {

train::TrainConfig bench_train_config(const std::vector<std::string>& files, std::vector<std::string> overrides) {
  const bool has_output =
      std::ranges::any_of(overrides, [](const std::string& o) { return o.starts_with("output_dir="); });
  if (!has_output) {
    overrides.emplace_back("output_dir=not_written");
  }
  train::TrainConfig config =
      train::load_train_config({.files = files, .overrides = std::move(overrides)}, /*world=*/1);
  if (config.is_resume()) {
    throw Error(ErrorKind::kUsage, "a bench measures a new run, found resume=" + config.resume, {}, "resume=false");
  }
  return config;
}

void fields(config::FieldTable& table, BenchSource& s) {
  table("policy", s.policy, "policy folder, checkpoint or run folder").value_name("DIR");
  table("batch", s.batch, "safetensors file of model-side tensors").value_name("FILE");
  table("config", s.config, "instead of both, or beside them: a training configuration").value_name("FILE");
  table.rest("key=value", s.overrides, "keys of a training configuration");
  table("dtype", s.dtype, "default: as config.json says").choices({"float32", "bfloat16", "bfloat16_autocast"});
  dist::add_device_flag(table, s.device);
  table("threads", s.threads, "0: LibTorch's choice").range(0, 1024);
}

train::RunPlan bench_plan(const BenchSource& source, std::vector<std::string> more,
                          const std::vector<std::string>& defaults) {
  const bool is_plain = source.config.empty() && source.overrides.empty();
  if (is_plain && (source.policy.empty() || source.batch.empty())) {
    throw Error(ErrorKind::kUsage, source.policy.empty() ? "no policy was given" : "no batch was given", {},
                "--policy DIR --batch FILE, or --config FILE");
  }
  std::vector<std::string> keys = is_plain ? defaults : source.overrides;
  const auto set = [&](const char* key, const auto& value) { keys.push_back(str_cat(key, "=", value)); };
  if (!source.policy.empty()) {
    set("policy.path", policy_folder(source.policy));
  }
  if (!source.batch.empty()) {
    set("batch_file", source.batch);
  }
  if (source.dtype) {
    set("policy.dtype", *source.dtype);
  }
  if (!source.device.empty()) {
    set("device", source.device);
  }
  if (source.threads) {
    set("threads", *source.threads);
  }
  std::ranges::move(more, std::back_inserter(keys));
  train::RunPlan plan;
  plan.config = bench_train_config(source.config, std::move(keys));
  plan.schedule_steps = plan.config.steps;
  return plan;
}

}  // namespace flexor::cli
