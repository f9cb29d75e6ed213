#include "cli/bench_config.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace flexor::cli {

train::TrainConfig bench_train_config(const std::vector<std::string>& files, std::vector<std::string> overrides) {
  const bool has_output =
      std::ranges::any_of(overrides, [](const std::string& o) { return o.starts_with("output_dir="); });
  if (!has_output) {
    overrides.emplace_back("output_dir=not_written");
  }
  return train::load_train_config({.files = files, .overrides = std::move(overrides)}, /*world=*/1);
}

void complete(BenchFlags& flags) {
  if (!flags.config.empty() || !flags.overrides.empty()) {
    if (!flags.policy.empty()) {
      flags.overrides.push_back("policy.path=" + flags.policy);
    }
    if (!flags.batch.empty()) {
      flags.overrides.push_back("batch_file=" + flags.batch);
    }
    const train::TrainConfig config = bench_train_config(flags.config, flags.overrides);
    flags.policy = config.policy.path;
    flags.batch = config.batch_file;
    flags.dtype = flags.dtype.value_or(config.policy.config.dtype);
    flags.master_dtype = flags.master_dtype.value_or(config.optimizer.master_dtype);
    flags.threads = flags.threads > 0 ? flags.threads : config.threads;
  }
  if (flags.policy.empty() || flags.batch.empty()) {
    throw Error(ErrorKind::kUsage, flags.policy.empty() ? "no policy was given" : "no batch was given", {},
                "--policy DIR --batch FILE, or --config FILE with policy.path and batch_file");
  }
}

}  // namespace flexor::cli
