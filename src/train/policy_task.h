#pragma once
#include <memory>
#include <string>

#include "base/json.h"
#include "data/processor.h"
#include "models/flow_sketch.h"
#include "models/policy_model.h"
#include "optim/lr_schedule.h"
#include "train/batch_source.h"
#include "train/task.h"
#include "train/train_config.h"
#include "train/validation.h"

namespace flexor::train {

/// What PolicyTask works with. Optional parts are null.
struct PolicyTaskParts {
  TrainConfig config;
  schema::PolicyConfig policy;  ///< as the model was built, with the dtype of the run
  std::unique_ptr<models::PolicyModel> model;
  optim::LrSchedule schedule;  ///< for the checkpoints' files
  std::unique_ptr<BatchSource> source;
  std::unique_ptr<Validator> validator;
  std::shared_ptr<const data::Processor> processor;
  std::string processor_source;  ///< policy folder whose processor files are copied, without a dataset
  Json lerobot_config;
};

/// Fine-tuning of pi0 and pi0.5: the flow-matching loss, LeRobot's checkpoints.
class PolicyTask final : public Task {
 public:
  explicit PolicyTask(PolicyTaskParts parts);

  void fetch() override;
  TaskLoss forward() override;
  double waited_s() const override;
  DataSize size() const override;
  bool validate(MetricsLog& log, int64_t step) override;
  std::string save(const LoopState& state) override;

  /// Of the micro batch that was fetched last.
  models::BatchShape last_shape() const;
  models::PolicyModel& model() { return *parts_.model; }

 private:
  PolicyTaskParts parts_;
  MicroBatch micro_;
};

}  // namespace flexor::train
