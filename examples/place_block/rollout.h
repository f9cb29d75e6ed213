#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>
#include <vector>

#include "data/raw_batch.h"
#include "world.h"

namespace flexor::place_block {

struct RolloutSettings {
  int64_t episodes = 200;
  uint64_t seed = 1000;     ///< of the worlds; the same seeds, the same starts
  int64_t execute = 5;      ///< actions of a chunk that are carried out before the next look
  int64_t batch_size = 64;  ///< episodes that look at once
};

/// How one episode ended.
struct Verdict {
  Outcome outcome = Outcome::kRunning;
  int frames = 0;
};

/// What a policy does. @param observations  B of them: picture, state, task
/// @param episodes  B episode numbers  @param look  how often these episodes looked before
/// @return          [B, T, 3] float32 on the CPU: dx, dy, opening; T >= execute
using Act =
    std::function<at::Tensor(const data::RawBatch& observations, const std::vector<int64_t>& episodes, int64_t look)>;

/// What the gripper sees in some worlds, as a dataset's frames are handed out.
data::RawBatch observe(const std::vector<const World*>& worlds);

/// Runs episodes with seeds of their own until all are over, closed loop: look, carry out, look again.
std::vector<Verdict> roll_out(const RolloutSettings& settings, const Act& act);

}  // namespace flexor::place_block
