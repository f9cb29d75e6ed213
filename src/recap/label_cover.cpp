#include "recap/label_cover.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "recap/labelled_dataset.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

using Frames = std::set<std::pair<int64_t, int64_t>>;

constexpr int kShown = 5;

bool is_same_place(const std::string& a, const std::string& b) {
  return fs::weakly_canonical(a) == fs::weakly_canonical(b);
}

bool is_part(const DatasetEntry& entry, const AdvantageSection& section) {
  return entry.episodes || entry.max_samples || section.max_samples || entry.episode_percentage < 100;
}

/// (episode_index, frame_index) of the frames that step 3 labels.
Frames labelled_frames(const RecapConfig& config, const DatasetEntry& entry) {
  const LabelledDataset labelled = open_labelled(config.advantages.data, entry);
  const int64_t size = labelled.dataset.num_frames();
  const int64_t count =
      std::min({size, entry.max_samples.value_or(size), config.advantages.advantage.max_samples.value_or(size)});
  Frames frames;
  for (int64_t position = 0; position < count; ++position) {
    const data::Dataset::FrameId id = labelled.dataset.frame_id(position);
    frames.emplace(id.episode_index, id.frame_index);
  }
  return frames;
}

}  // namespace

void require_labelled_frames(const RecapConfig& config, const DatasetEntry& used, const std::string& key) {
  const std::string root = resolved_path(config.policy.data, used.dataset_path);
  const auto& entries = config.advantages.data.train_data_paths;
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const DatasetEntry& other) {
    return is_same_place(root, resolved_path(config.advantages.data, other.dataset_path));
  });
  if (entry == entries.end() || !is_part(*entry, config.advantages.advantage)) {
    return;
  }
  const Frames labelled = labelled_frames(config, *entry);
  const data::Dataset dataset =
      data::Dataset::open({.root = root, .episodes = used.episodes, .rename_map = {}, .columns = {}});
  int64_t missing = 0;
  std::string first;
  for (int64_t position = 0; position < dataset.num_frames(); ++position) {
    const data::Dataset::FrameId id = dataset.frame_id(position);
    if (!labelled.contains({id.episode_index, id.frame_index}) && ++missing <= kShown) {
      first += str_cat(first.empty() ? "(" : ", (", id.episode_index, ", ", id.frame_index, ")");
    }
  }
  if (missing > 0) {
    throw Error(ErrorKind::kConfig,
                str_cat("step 3 labels only a part of what ", key, " trains on: ", missing, " of ",
                        dataset.num_frames(), " frames would have no label; the first (episode, frame): ", first),
                root, "the same episodes and max_samples in advantages and policy");
  }
}

}  // namespace flexor::recap
