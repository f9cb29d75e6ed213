#pragma once
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "config/field_table.h"
#include "recording.h"

namespace flexor::place_block {

struct RecordOptions {
  std::string root = {};
  int64_t episodes = 300, seed = 0;
};
void fields(config::FieldTable& table, RecordOptions& options);

/// Episode number `index` of a seed: the same whatever else is recorded.
Episode record_episode(uint64_t seed, uint64_t index);

/// Records a dataset of good and bad episodes and prints one JSON object: how many of each behaviour and how many
/// successes, frames, and the numbers of the successful episodes. @throws Error(kFile) if the folder is not empty
void record(const RecordOptions& options, std::ostream& out);

}  // namespace flexor::place_block
