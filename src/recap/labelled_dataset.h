#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "data/dataset.h"
#include "data/sampler.h"
#include "recap/camera_slots.h"
#include "recap/mixture_config.h"
#include "recap/recap_config.h"

namespace flexor::recap {

/// A dataset whose frames are to be labelled.
struct LabelledDataset {
  std::string name, type, root;
  MixtureDataset mixture;
  data::Dataset dataset;  ///< the episodes that take part
  CameraSlots slots;
};
/// @throws Error(kFile), Error(kData), Error(kConfig)
LabelledDataset open_labelled(const DataSection& data, const DatasetEntry& entry);

/// Threads that read. @param given  null: one per core
int reading_threads(const std::optional<int64_t>& given);

/// The frames [0, end) in order, a batch at a time. What a worker reads ahead beyond them is the last frame alone.
class FramesInOrder final : public data::BatchOrder {
 public:
  FramesInOrder(int64_t end, int64_t batch_size) : end_(end), batch_size_(batch_size) {}
  Batch batch(int64_t step) const override;
  int64_t num_frames() const override { return end_; }
  data::SamplerState state(int64_t step) const override { return {.epoch = 0, .start_index = step * batch_size_}; }

 private:
  int64_t end_, batch_size_;
};

}  // namespace flexor::recap
