#pragma once
#include <string>
#include <vector>

#include "train/train_config.h"

namespace flexor::cli {

/// The configuration that a bench measures; no output_dir is needed, since nothing is written.
/// @throws Error as train::load_train_config
train::TrainConfig bench_train_config(const std::vector<std::string>& files, std::vector<std::string> overrides);

/// What `bench train` and `bench sample` take from a configuration when no flag says it.
struct BenchFlags {
  std::vector<std::string> config, overrides;
  std::string policy, batch;
  std::optional<std::string> dtype, master_dtype;
  int64_t threads = 0;
};

/// Fills what is empty from the configuration (policy.path, batch_file, policy.dtype, optimizer.master_dtype, threads).
/// @throws Error(kUsage) if there is neither a policy nor a batch afterwards
void complete(BenchFlags& flags);

}  // namespace flexor::cli
