#include "rollout.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/str_cat.h"
#include "camera.h"
#include "recording.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"

namespace flexor::place_block {
namespace {

/// Carries out the first actions of a chunk. @param actions  [T, 3]
void carry_out(World& world, const Tensor& actions, int64_t count) {
  const auto values = actions.accessor<float, 2>();
  for (int64_t t = 0; t < count && !world.is_over(); ++t) {
    world.step({.move = {values[t][0], values[t][1]}, .opening = values[t][2]});
  }
}

void check_actions(const Tensor& actions, int64_t batch_size, int64_t execute) {
  if (actions.dim() != 3 || actions.size(0) != batch_size || actions.size(1) < execute || actions.size(2) != 3) {
    throw Error(
        ErrorKind::kCheckpoint,
        str_cat("the policy's actions are ", actions.sizes(), ", wanted [", batch_size, ", ", execute, " or more, 3]"),
        "place_block judge", "judge a policy that was trained on data of this example");
  }
}

}  // namespace

data::RawBatch observe(const std::vector<const World*>& worlds) {
  const auto count = static_cast<int64_t>(worlds.size());
  Tensor pixels = at::empty({count, kPictureSize, kPictureSize, 3}, at::kByte);
  data::RawBatch batch;
  batch.state = at::empty({count, 3}, at::kFloat);
  for (int64_t i = 0; i < count; ++i) {
    const World& world = *worlds[static_cast<size_t>(i)];
    const media::Picture picture = draw(world);
    std::memcpy(pixels[i].data_ptr<uint8_t>(), picture.rgb.data(), picture.rgb.size());
    const std::array<float, 3> state = world.state();
    std::copy(state.begin(), state.end(), batch.state[i].data_ptr<float>());
    batch.tasks.emplace_back(kTask);
    batch.episodes.push_back(i);
    batch.frames.push_back(world.num_frames());
  }
  batch.cameras.push_back({std::string(kCamera), pixels.permute({0, 3, 1, 2}).contiguous()});  // [B, 3, H, W]
  return batch;
}

std::vector<Verdict> roll_out(const RolloutSettings& settings, const Act& act) {
  constexpr uint64_t kWorld = 1;
  std::vector<World> worlds;
  for (int64_t i = 0; i < settings.episodes; ++i) {
    worlds.emplace_back(stream_seed(settings.seed, kWorld, static_cast<uint64_t>(i)));
  }
  Progress progress("judging", settings.episodes, "episodes");
  std::vector<int64_t> running(worlds.size());
  for (size_t i = 0; i < running.size(); ++i) {
    running[i] = static_cast<int64_t>(i);
  }
  for (int64_t look = 0; !running.empty(); ++look) {
    for (size_t first = 0; first < running.size(); first += static_cast<size_t>(settings.batch_size)) {
      check_interrupt();
      const size_t last = std::min(running.size(), first + static_cast<size_t>(settings.batch_size));
      const std::vector<int64_t> episodes(running.begin() + static_cast<ptrdiff_t>(first),
                                          running.begin() + static_cast<ptrdiff_t>(last));
      std::vector<const World*> seen;
      for (const int64_t episode : episodes) {
        seen.push_back(&worlds[static_cast<size_t>(episode)]);
      }
      const Tensor actions = act(observe(seen), episodes, look);
      check_actions(actions, static_cast<int64_t>(episodes.size()), settings.execute);
      for (size_t i = 0; i < episodes.size(); ++i) {
        carry_out(worlds[static_cast<size_t>(episodes[i])], actions[static_cast<int64_t>(i)], settings.execute);
      }
    }
    const size_t before = running.size();
    std::erase_if(running, [&](int64_t episode) { return worlds[static_cast<size_t>(episode)].is_over(); });
    progress.advance(static_cast<int64_t>(before - running.size()));
  }
  std::vector<Verdict> verdicts;
  for (const World& world : worlds) {
    verdicts.push_back({world.outcome(), world.num_frames()});
  }
  return verdicts;
}

}  // namespace flexor::place_block
