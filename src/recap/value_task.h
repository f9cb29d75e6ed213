#pragma once
#include <ATen/core/Generator.h>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loader.h"
#include "recap/batch_order.h"
#include "recap/recap_config.h"
#include "recap/value_checkpoint.h"
#include "recap/value_data.h"
#include "recap/value_estimator.h"
#include "recap/value_metrics.h"
#include "train/task.h"

namespace flexor::recap {

/// Metrics of a value model on the first samples of a dataset, all of them, whatever the batch size.
/// @param num_workers  threads that decode  @throws Error(kInterrupted), Error(kTerminated) between batches
ValueMetrics evaluate_values(ValueEstimator& estimator, const ValueDataset& dataset, const std::string& default_prompt,
                             int64_t batch_size, int num_workers, int prefetch);

/// Logits, values and losses of a batch beside its targets.
ValueOutput value_output(ValueEstimator& estimator, const models::ValueBatch& batch, const at::Tensor& targets,
                         at::Generator* dropout);

/// Training of the value model: RECAP's step 2 as a task of train::Trainer.
class ValueTask final : public train::Task {
 public:
  /// @param first_batch  micro batches that were given before (resuming)
  /// @param best         of the run so far
  ValueTask(const ValueStep& step, ValueRun run, ValueData data, ValueEstimator estimator, int64_t rank, int64_t world,
            int64_t first_batch, const BestValue& best);

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
  std::shared_ptr<const RecapOrder> order_;
  std::unique_ptr<data::Loader> loader_;
  BestKeeper best_;

  int64_t batch_number_ = 0;  ///< of the fetched batch, from the start of the run
  models::ValueBatch batch_;
  at::Tensor targets_;
  std::vector<ValueMetrics> micro_metrics_;  ///< since the last log row
  std::map<std::string, double> last_validation_;
};

/// Threads that read: `wanted`, else `general`, else one per core.
int worker_count(const std::optional<int64_t>& wanted, const std::optional<int64_t>& general);

}  // namespace flexor::recap
