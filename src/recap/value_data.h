#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/mixture.h"
#include "recap/camera_slots.h"
#include "recap/recap_config.h"
#include "recap/returns.h"

namespace flexor::recap {

/// One dataset of the value model.
struct ValueDataset {
  std::string name, root;
  data::Dataset dataset;    ///< the episodes that take part
  CameraSlots slots;        ///< the same for all training datasets, since they share their cameras
  int64_t num_samples = 0;  ///< the first frames, at most max_samples
  double weight = 1.0;
  std::vector<float> targets;  ///< by position, normalised
};

/// What the value model learns from and is judged on.
struct ValueData {
  std::vector<ValueDataset> train, eval;
  std::shared_ptr<const data::Mixture> mixture;  ///< of `train`
  ReturnRange range;                             ///< of the training returns, for both

  /// Target of a global position of the mixture.
  float target(int64_t position) const;
};

/// Opens and checks datasets and returns. Evaluation data take the range of the training data.
/// @throws Error(kFile), Error(kData), Error(kConfig)
ValueData open_value_data(const ValueStep& step);

/// episode_index of a dataset's episodes, ascending.
std::vector<int64_t> episode_indices(const data::Dataset& dataset);

/// Episodes of an entry that take part: `episodes`, then episode_percentage of them.
/// @param all  episode_index of the dataset's episodes, ascending
std::vector<int64_t> chosen_episodes(const DatasetEntry& entry, std::vector<int64_t> all);

}  // namespace flexor::recap
