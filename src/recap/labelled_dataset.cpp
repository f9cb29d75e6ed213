#include "recap/labelled_dataset.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "recap/value_data.h"

namespace flexor::recap {

LabelledDataset open_labelled(const DataSection& data, const DatasetEntry& entry) {
  const std::string root = resolved_path(data, entry.dataset_path);
  data::DatasetOptions options;
  options.root = root;
  options.episodes = entry.episodes;
  data::Dataset dataset = data::Dataset::open(options);
  if (entry.episode_percentage < 100) {
    dataset = dataset.select(chosen_episodes(entry, episode_indices(dataset)));
  }
  const std::string robot_type = entry.robot_type.empty() ? data.robot_type : entry.robot_type;
  CameraSlots slots = camera_slots(robot_type, dataset.cameras(), root);
  return {.name = entry.shown_name(),
          .type = entry.type.empty() ? data.dataset_type : entry.type,
          .root = root,
          .mixture = {.name = entry.shown_name(),
                      .weight = entry.weight,
                      .return_min = entry.return_min,
                      .return_max = entry.return_max},
          .dataset = std::move(dataset),
          .slots = std::move(slots)};
}

int reading_threads(const std::optional<int64_t>& given) {
  return static_cast<int>(given.value_or(std::max(1U, std::thread::hardware_concurrency())));
}

data::BatchOrder::Batch FramesInOrder::batch(int64_t step) const {
  Batch batch{.epoch = 0, .first_index = step * batch_size_, .positions = {}};
  for (int64_t p = batch.first_index; p < std::min(end_, batch.first_index + batch_size_); ++p) {
    batch.positions.push_back(p);
  }
  if (batch.positions.empty()) {
    batch.positions.push_back(end_ - 1);
  }
  return batch;
}

}  // namespace flexor::recap
