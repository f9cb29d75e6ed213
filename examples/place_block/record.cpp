#include "record.h"

#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/progress.h"
#include "camera.h"
#include "demonstrator.h"
#include "media/image_codec.h"
#include "tensor/rng.h"

namespace flexor::place_block {

void fields(config::FieldTable& table, RecordOptions& o) {
  table.positional("dir", o.root, "folder to write; must not exist or be empty");
  table("episodes", o.episodes, "episodes to record").range(1, 1e6);
  table("seed", o.seed, "of places and behaviours").range(0, 1e15);
}

Episode record_episode(uint64_t seed, uint64_t index) {
  constexpr uint64_t kWorld = 1, kHuman = 2;
  World world(stream_seed(seed, kWorld, index));
  Random random(stream_seed(seed, kHuman, index));
  const Behaviour behaviour = draw_behaviour(random);
  Demonstrator demonstrator(behaviour, world, random);
  Episode episode;
  episode.behaviour = behaviour_name(behaviour);
  while (!world.is_over()) {
    const std::vector<uint8_t> png = media::encode_png(draw(world));
    episode.pictures.emplace_back(png.begin(), png.end());
    episode.states.push_back(world.state());
    const Command command = demonstrator.command(world);
    episode.actions.push_back(
        {static_cast<float>(command.move.x), static_cast<float>(command.move.y), static_cast<float>(command.opening)});
    world.step(command);
  }
  episode.success = world.outcome() == Outcome::kPlaced;
  return episode;
}

void record(const RecordOptions& options, std::ostream& out) {
  namespace fs = std::filesystem;
  if (fs::exists(options.root) && (!fs::is_directory(options.root) || !fs::is_empty(options.root))) {
    throw Error(ErrorKind::kFile, "exists already and is not empty", options.root, "name a new folder");
  }
  StagedFolder folder(options.root);
  Recording recording(folder.path());
  Progress progress("recording", options.episodes, "episodes");
  std::map<std::string, std::array<int64_t, 2>> counts;  // episodes, successes
  std::vector<int64_t> successes;
  int64_t frames = 0;
  for (int64_t i = 0; i < options.episodes; ++i) {
    check_interrupt();
    Episode episode = record_episode(static_cast<uint64_t>(options.seed), static_cast<uint64_t>(i));
    auto& [all, good] = counts[episode.behaviour];
    ++all;
    good += episode.success ? 1 : 0;
    if (episode.success) {
      successes.push_back(i);
    }
    frames += static_cast<int64_t>(episode.states.size());
    recording.add(std::move(episode));
    progress.advance();
  }
  recording.finish();
  folder.commit();
  Json behaviours = Json::object();
  for (const auto& [name, count] : counts) {
    behaviours[name] = Json::object({{"episodes", count[0]}, {"successes", count[1]}});
  }
  out << Json::object({{"episodes", options.episodes},
                       {"successes", successes.size()},
                       {"frames", frames},
                       {"seed", options.seed},
                       {"behaviours", behaviours},
                       {"success_episodes", successes}})
             .dump()
      << '\n';
}

}  // namespace flexor::place_block
