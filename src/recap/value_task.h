#pragma once
#include <ATen/core/Generator.h>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loader.h"
#include "dist/group.h"
#include "recap/batch_order.h"
#include "recap/recap_config.h"
#include "recap/value_checkpoint.h"
#include "recap/value_data.h"
#include "recap/value_estimator.h"
#include "recap/value_metrics.h"
#include "train/task.h"

namespace flexor::recap {

/// How a dataset is read for validation.
struct ValidationReading {
  int64_t batch_size = 1;
  int num_workers = 0, prefetch = 2;  ///< threads that decode, batches read ahead by each
  std::string default_prompt = {};
};

/// Metrics of a value model on the first samples of a dataset, each once, whatever the batch size and the number of
/// ranks, which share the batches and all get the same.
/// @throws Error(kInterrupted), Error(kTerminated) between batches, on all ranks if on any
ValueMetrics evaluate_values(ValueEstimator& estimator, const ValueDataset& dataset, const ValidationReading& reading,
                             dist::Group& group);

/// Logits, values and losses of a batch beside its targets.
ValueOutput value_output(ValueEstimator& estimator, const models::ValueBatch& batch, const at::Tensor& targets,
                         at::Generator* dropout);

/// Training of the value model: RECAP's step 2 as a task of train::Trainer.
class ValueTask final : public train::Task {
 public:
  /// @param first_step  optimizer steps done before (resuming)
  /// @param best        of the run so far
  ValueTask(const ValueStep& step, ValueRun run, ValueData data, ValueEstimator estimator,
            std::shared_ptr<dist::Group> group, int64_t first_step, const BestValue& best);

  int64_t steps_per_epoch() const { return order_->steps_per_epoch(); }
  const std::map<std::string, double>& last_validation() const { return last_validation_; }
  const BestValue& best() const { return best_.best(); }

  void fetch() override;
  train::TaskLoss forward() override;
  double waited_s() const override { return loader_->waited_s(); }
  train::DataSize size() const override;
  Json take_metrics() override;
  bool validate(train::MetricsLog& log, int64_t step) override;
  std::string save(const train::LoopState& state) override;

  /// The micro batch that was fetched last.
  const models::ValueBatch& last_batch() const { return batch_; }

 private:
  data::RawBatch with_prompts(data::RawBatch raw) const;

  ValueStep step_;
  ValueRun run_;
  ValueData data_;
  ValueEstimator estimator_;
  std::shared_ptr<dist::Group> group_;
  std::shared_ptr<const RecapOrder> order_;
  std::unique_ptr<data::Loader> loader_;
  BestKeeper best_;

  int64_t batch_number_ = 0;  ///< of the fetched batch among those of all ranks, from the start of the run
  models::ValueBatch batch_;
  at::Tensor targets_;
  std::vector<ValueMetrics> micro_metrics_;  ///< since the last log row
  std::map<std::string, double> last_validation_;
};

/// Threads that read: `wanted`, else `general`, else one per core.
int worker_count(const std::optional<int64_t>& wanted, const std::optional<int64_t>& general);

}  // namespace flexor::recap
