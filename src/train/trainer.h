#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "models/policy_model.h"
#include "optim/adamw.h"
#include "optim/ema.h"
#include "optim/lr_schedule.h"
#include "train/batch_source.h"
#include "train/checkpoint.h"
#include "train/closing.h"
#include "train/metrics.h"
#include "train/parallel_context.h"
#include "train/train_config.h"
#include "train/validation.h"

namespace flexor::train {

/// What the loop works on; built by run(). Optional parts are null.
struct TrainerParts {
  TrainConfig config;
  schema::PolicyConfig policy;
  std::unique_ptr<models::PolicyModel> model;
  std::unique_ptr<optim::AdamW> optimizer;
  std::unique_ptr<optim::Ema> ema;
  std::unique_ptr<BatchSource> source;
  std::unique_ptr<Validator> validator;
  std::unique_ptr<ParallelContext> parallel;
  std::shared_ptr<const data::Processor> processor;
  std::string processor_source;  ///< policy folder whose processor files are copied, without a dataset
  Json lerobot_config;
  Progress progress;  ///< where to start
};

/// The training loop: step = batches, forward and backward per micro batch, clip, finite check, optimizer, schedule;
/// then log, validate, save. Knows no model by name, and ranks only through ParallelContext.
class Trainer {
 public:
  explicit Trainer(TrainerParts parts);

  /// Trains until `steps` are done. @throws Error(kRuntime) if a loss or gradient is not finite (nothing is updated
  /// then); Error(kInterrupted), Error(kTerminated) after the step was finished and a checkpoint saved
  Closing run();

  const Progress& progress() const { return parts_.progress; }
  const std::string& last_checkpoint() const { return last_checkpoint_; }
  models::PolicyModel& model() { return *parts_.model; }

  /// One optimizer step; what run() repeats.
  StepRecord train_step();

 private:
  double forward_backward(StepRecord& record);
  void check_finite(double loss, double grad_norm) const;
  void note(const StepRecord& record);
  void log_if_due();
  bool is_stopping();
  void validate_if_due();
  void save_if_due(bool stopping);
  void save();
  bool due(int64_t frequency) const;

  TrainerParts parts_;
  optim::LrSchedule schedule_;
  int64_t accumulation_;
  int64_t first_step_;  ///< of this process
  double start_s_, earlier_s_;
  int64_t last_saved_ = -1;
  std::string last_checkpoint_;
  MetricsLog metrics_;
  MetricsWindow window_;
  Throughput throughput_;
};

}  // namespace flexor::train
