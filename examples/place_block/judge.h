#pragma once
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "config/field_table.h"

namespace flexor::place_block {

struct JudgeOptions {
  std::string policy = {}, name = {}, output = {}, guidance_type = "positive";
  std::optional<double> guidance = {};
  std::optional<int64_t> num_steps = {};
  int64_t episodes = 200, seed = 1000, execute = 5, batch_size = 64, threads = 0;
};
void fields(config::FieldTable& table, JudgeOptions& options);

/// Runs a policy folder in the simulator and prints result_json(); with `output` it is also written to that file.
/// The noise that an action chunk starts from depends on seed, episode and look alone: all policies get the same.
/// @throws Error(kUsage), Error(kFile), Error(kCheckpoint)
void judge(const JudgeOptions& options, std::ostream& out);

}  // namespace flexor::place_block
