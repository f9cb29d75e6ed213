#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <memory>
#include <optional>
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
  int64_t samples = 0;          ///< of all ranks that count
  std::optional<double> share;  ///< as TaskLoss::share
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

/// A run's place among its ranks and in its data.
struct SourcePlace {
  int64_t rank = 0, world = 1;
  int64_t first_step = 0;                                     ///< steps done before (resuming)
  std::optional<data::SamplerState> position = std::nullopt;  ///< where they ended, if another count may have led there
};

/// How the data loader of a run reads.
data::LoaderConfig loader_config(const TrainConfig& config, const schema::PolicyConfig& policy,
                                 const SourcePlace& place = {});

/// Batches of a dataset. What a step trains on, noise and times included, does not depend on how ranks and micro
/// batches share it.
std::unique_ptr<BatchSource> dataset_source(const TrainConfig& config, const schema::PolicyConfig& policy,
                                            const TrainingData& data, std::shared_ptr<const data::Processor> processor,
                                            const SourcePlace& place);

/// One prepared batch, again and again. Noise and times are `train_noise[k]`, `train_time[k]` at absolute step k, else
/// `noise`, `time`; all ranks take the same. @param accumulation  micro batches a step
/// @throws Error(kData) if the file lacks noise, time or action, its batch size is not batch_size, or it does not fit
/// the policy
std::unique_ptr<BatchSource> file_source(const TrainConfig& config, const schema::PolicyConfig& policy,
                                         int64_t accumulation, const SourcePlace& place);

}  // namespace flexor::train
