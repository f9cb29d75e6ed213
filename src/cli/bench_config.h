#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/field_table.h"
#include "train/run_folder.h"

namespace flexor::cli {

/// Configuration of a bench, by files and keys. Nothing is written, so output_dir may be missing.
/// @throws Error as train::load_train_config; Error(kUsage) for resume
train::TrainConfig bench_train_config(const std::vector<std::string>& files, std::vector<std::string> overrides);

/// What `bench train` and `bench sample` measure: a training configuration, or a policy and a batch. Flags win over
/// keys.
struct BenchSource {
  std::vector<std::string> config, overrides;
  std::string policy, batch, device;
  std::optional<std::string> dtype;
  std::optional<int64_t> threads;
};
void fields(config::FieldTable& table, BenchSource& source);

/// The run whose steps are measured.
/// @param more      keys that other flags stand for, as key=value
/// @param defaults  keys of a bench without a configuration, as key=value
/// @throws Error(kUsage) if there is neither a configuration nor both policy and batch; Error as
///         train::load_train_config
train::RunPlan bench_plan(const BenchSource& source, std::vector<std::string> more,
                          const std::vector<std::string>& defaults);

}  // namespace flexor::cli
