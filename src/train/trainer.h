#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "optim/adamw.h"
#include "optim/ema.h"
#include "train/closing.h"
#include "train/memory_plan.h"
#include "train/metrics.h"
#include "train/parallel_context.h"
#include "train/progress.h"
#include "train/task.h"

namespace flexor::train {

/// What the loop itself is told.
struct LoopConfig {
  int64_t steps = 0;                                         ///< of the whole run
  int64_t accumulation = 1;                                  ///< micro batches a step
  int64_t log_freq = 200, eval_freq = 0, save_freq = 20000;  ///< in steps, and at the end; <= 0: only at the end
  std::string output_dir;                                    ///< metrics.jsonl goes there
  std::string log_style = "flexor";
  bool validate_first = true;  ///< also before the first step
  bool log_used_lr = false;    ///< rows say the rate that the last step used; else the next step's, as LeRobot does
  /// A step whose gradient is not finite is skipped with a warning, at most this many in a row; 0: the run stops.
  int64_t max_skipped_steps = 0;
};

/// What a run's memory was predicted to be, and what it is compared with.
struct MemoryForecast {
  int64_t resident_before = 0;  ///< bytes of the process before there was a model; 0: nothing is compared
  /// Of the batch that was computed last. Called once, on all ranks.
  std::function<MemoryPlan()> plan;
};

/// What the loop works on.
struct TrainerParts {
  LoopConfig config;
  std::unique_ptr<Task> task;
  std::unique_ptr<optim::AdamW> optimizer;
  std::unique_ptr<optim::Ema> ema;  ///< may be null
  /// Learning rates of all groups of the optimizer in a step, counted from 0.
  std::function<std::vector<double>(int64_t step)> learning_rates;
  std::unique_ptr<ParallelContext> parallel;
  Progress progress;            ///< where to start
  std::string checkpoint = {};  ///< the run's own that `progress` was read from, not written again; empty: none
  MemoryForecast memory = {};
};

/// The training loop: step = batches, forward and backward per micro batch, clip, finite check, optimizer, schedule;
/// then log, validate, save. Knows no model, and ranks only through ParallelContext.
class Trainer {
 public:
  explicit Trainer(TrainerParts parts);

  /// Trains until `steps` are done; a run that has them already keeps its checkpoint as it is. @throws Error(kRuntime)
  /// if a loss or gradient is not finite (nothing is updated then); Error(kInterrupted), Error(kTerminated) after the
  /// step was finished and a checkpoint saved
  Closing run();

  const Progress& progress() const { return parts_.progress; }
  const std::string& last_checkpoint() const { return last_checkpoint_; }
  Task& task() { return *parts_.task; }

  /// One optimizer step; what run() repeats.
  StepRecord train_step();

 private:
  StepRecord step_or_explain();
  double forward_backward(StepRecord& record);
  bool accept_step(double loss, double grad_norm);
  void note(const StepRecord& record);
  void log_if_due();
  void compare_memory();
  bool is_stopping();
  [[noreturn]] void stop() const;
  bool validate_if_due();
  void save_if_due(bool wanted);
  void save();
  bool due(int64_t frequency) const;

  TrainerParts parts_;
  int64_t first_step_;  ///< of this process
  double start_s_, earlier_s_;
  int64_t skipped_in_a_row_ = 0;
  std::optional<MemoryPlan> plan_;
  ErrorKind stop_kind_ = ErrorKind::kInterrupted;
  int64_t last_saved_ = -1;
  std::string last_checkpoint_;
  MetricsLog metrics_;
  MetricsWindow window_;
  Throughput throughput_;
};

}  // namespace flexor::train
