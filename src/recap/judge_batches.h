#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "data/loader.h"
#include "dist/shared_work.h"
#include "recap/advantages_step.h"
#include "recap/labelled_dataset.h"
#include "recap/value_shards.h"

namespace flexor::recap {

/// What a model says of a dataset's frames, batch by batch.
struct JudgedBatches {
  std::string what;                               ///< "values", for the bar and for messages
  std::shared_ptr<const data::BatchOrder> order;  ///< in batches of advantage.batch_size; the last may be smaller
  data::BatchFormat format = {};
  Json plan;          ///< what the numbers are of: those that an interrupted run left are taken over if it is equal
  int64_t width = 1;  ///< numbers a frame
  /// The numbers of a batch, frame by frame, on the rank whose turn it is; its time counts as the model's.
  std::function<std::vector<float>(const data::RawBatch& batch)> judge;
};

/// What every plan holds: who judges, and by which cameras.
Json judged_plan(const Json& judge, const CameraSlots& slots);

/// Ranks judge in turns while the next batches are decoded, and go on where an interrupted run stopped. Adds frames and
/// seconds to `result`.
/// @return the numbers of all frames, on the main rank, and their place on disk until the labels are written
/// @throws Error(kRuntime) for a number that is not finite; as dist::share_work(), data::Loader::next(), ValueShards
std::optional<ValueShards> judge_batches(const LabelledDataset& labelled, const AdvantageSection& section,
                                         const JudgedBatches& work, dist::Group& group, AdvantagesResult& result);

}  // namespace flexor::recap
