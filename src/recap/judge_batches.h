#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/loader.h"
#include "dist/shared_work.h"
#include "recap/advantages_step.h"
#include "recap/labelled_dataset.h"

namespace flexor::recap {

/// What a model says of a dataset's pictures, batch by batch.
struct JudgedBatches {
  std::string what;                               ///< "values", for the bar and for messages
  std::shared_ptr<const data::BatchOrder> order;  ///< in batches of advantage.batch_size; the last may be smaller
  int64_t first_batch = 0;                        ///< those before it are known
  data::BatchFormat format = {};
  /// Numbers of a batch, on the rank whose turn it is; its time counts as the model's.
  std::function<std::vector<double>(const data::RawBatch& batch)> judge;
  /// Gets them on every rank, batch after batch.
  std::function<void(int64_t batch, std::span<const double> numbers)> take;
};

/// Ranks judge in turns while the next batches are decoded. Adds frames and seconds to `result`.
/// @throws as dist::share_work() and data::Loader::next()
void judge_batches(const LabelledDataset& labelled, const AdvantageSection& section, const JudgedBatches& work,
                   dist::Group& group, AdvantagesResult& result);

}  // namespace flexor::recap
