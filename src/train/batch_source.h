#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <memory>
#include <string>

#include "data/loader.h"
#include "data/processor.h"
#include "schema/batch.h"
#include "schema/policy_config.h"
#include "train/data_setup.h"
#include "train/metrics.h"
#include "train/train_config.h"

namespace flexor::train {

/// What one forward pass takes.
struct MicroBatch {
  schema::Batch batch;
  at::Tensor noise, time;
  int64_t size() const { return batch.size(); }
};

/// Gives a run its batches: a function of the configuration and the number of batches given before.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual MicroBatch next() = 0;
  virtual DataSize size() const = 0;
  virtual double waited_s() const = 0;  ///< seconds that next() waited for decoding, since the start
  struct Position {
    int64_t epoch = 0, start_index = 0;
    DataSize data;  ///< what the order is drawn over; nothing without a dataset
  };
  virtual Position position() const = 0;  ///< before the next batch
};

/// How the data loader of a run reads.
data::LoaderConfig loader_config(const TrainConfig& config, const schema::PolicyConfig& policy, int64_t rank,
                                 int64_t world);

/// Batches of a dataset. @param first_batch  batches given before (resuming); @param world, rank  share the work
std::unique_ptr<BatchSource> dataset_source(const TrainConfig& config, const schema::PolicyConfig& policy,
                                            const TrainingData& data, std::shared_ptr<const data::Processor> processor,
                                            int64_t rank, int64_t world, int64_t first_batch);

/// One prepared batch, again and again. Noise and times are `train_noise[k]`, `train_time[k]` at absolute step k, else
/// `noise`, `time`. @param accumulation  micro batches a step
/// @throws Error(kData) if the file lacks noise, time or action, its batch size is not batch_size, or it does not fit
/// the policy
std::unique_ptr<BatchSource> file_source(const TrainConfig& config, const schema::PolicyConfig& policy,
                                         int64_t accumulation, int64_t first_batch);

}  // namespace flexor::train
