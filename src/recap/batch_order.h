#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "data/sampler.h"
#include "recap/mixture_sampler.h"

namespace flexor::recap {

struct RecapOrderConfig {
  std::vector<int64_t> lengths = {};  ///< frames of each dataset that take part: the first ones
  std::vector<int64_t> starts = {};   ///< global position of each dataset's first frame
  std::vector<double> weights = {};
  bool balance = true;      ///< weights times length
  bool mix_single = false;  ///< one dataset is drawn from with replacement too, as the policy's sampler does
  int64_t seed = 42;        ///< of the mixture
  int64_t micro_batch_size = 32;
  int64_t accumulation = 1;  ///< micro batches a step
  int64_t rank = 0, world = 1;

  void add_dataset(int64_t length, int64_t start, double weight);
};

/// RLinf's order of training samples. One dataset: an epoch is torch.randperm with seed 0 + epoch; several: see
/// MixtureSampler. Batches that are not full, and those that do not fill a step, are left out at the end of an epoch.
/// An epoch of fewer batches than a step needs gives them several times.
///
/// Micro batch m of rank r is batch number m * world + r of its step. So a step has the samples that one rank with
/// world times as many micro batches would train on, which are those that RLinf's ranks have together.
class RecapOrder final : public data::BatchOrder {
 public:
  /// @throws Error(kData) if an epoch has fewer samples than a micro batch
  explicit RecapOrder(RecapOrderConfig config);

  Batch batch(int64_t step) const override;
  int64_t num_frames() const override { return length_; }
  data::SamplerState state(int64_t step) const override;
  int64_t steps_per_epoch() const { return steps_per_epoch_; }

  /// Number of this rank's batch `step` among those of all ranks, from the start of the run.
  int64_t number(int64_t step) const { return step * config_.world + config_.rank; }
  /// The optimizer step that a batch of this rank belongs to, and the place of its first sample among the step's. What
  /// is drawn for a sample depends on these, so that ranks and micro batches do not change it.
  struct StepPlace {
    int64_t step = 0, first = 0;
  };
  StepPlace step_place(int64_t step) const;

 private:
  using Indices = std::shared_ptr<const std::vector<int64_t>>;
  Indices order(int64_t epoch) const;
  data::SamplerState epoch_place(int64_t number) const;
  int64_t position(int64_t epoch, int64_t index) const;

  RecapOrderConfig config_;
  std::optional<MixtureSampler> mixture_;
  int64_t length_ = 0, batches_ = 0, steps_per_epoch_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<int64_t, Indices> orders_;
};

/// Batches first, first + step, ... of another order: those of one rank.
class EveryNthBatch final : public data::BatchOrder {
 public:
  EveryNthBatch(std::shared_ptr<const data::BatchOrder> order, int64_t first, int64_t step)
      : order_(std::move(order)), first_(first), step_(step) {}
  Batch batch(int64_t step) const override { return order_->batch(first_ + step * step_); }
  int64_t num_frames() const override { return order_->num_frames(); }
  data::SamplerState state(int64_t step) const override { return order_->state(first_ + step * step_); }

 private:
  std::shared_ptr<const data::BatchOrder> order_;
  int64_t first_, step_;
};

/// Samples 0, 1, 2, ... in batches, the last one smaller: for evaluation. A reader that runs ahead starts again.
class AscendingOrder final : public data::BatchOrder {
 public:
  /// Both at least 1.
  AscendingOrder(int64_t samples, int64_t batch_size) : samples_(samples), batch_size_(batch_size) {}
  int64_t batches() const { return (samples_ + batch_size_ - 1) / batch_size_; }
  Batch batch(int64_t step) const override;
  int64_t num_frames() const override { return samples_; }
  data::SamplerState state(int64_t step) const override { return {0, step % batches() * batch_size_}; }

 private:
  int64_t samples_, batch_size_;
};

}  // namespace flexor::recap
