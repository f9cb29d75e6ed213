#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "optim/adamw.h"
#include "optim/ema.h"
#include "train/metrics.h"
#include "train/progress.h"

namespace flexor::train {

/// One forward pass.
struct TaskLoss {
  at::Tensor loss;      ///< scalar with a graph: the mean over the micro batch
  int64_t samples = 0;  ///< of all ranks in this micro batch
  /// Which part of the step's samples, over all ranks and micro batches, this micro batch is: the weight of its loss.
  /// Without it all are equal.
  std::optional<double> share = std::nullopt;
};

/// What a checkpoint takes from the loop; everything is borrowed.
struct LoopState {
  const optim::AdamW& optimizer;
  const optim::Ema* ema = nullptr;
  const Progress& progress;
  double next_lr = 0;  ///< of the first group, in the next step
  int64_t world = 1;
};

/// What a Trainer trains: a model with its loss, data, validation and files. The loop calls these in a fixed order and
/// knows nothing else; policies, RECAP's value model and its ensembles are implementations.
class Task {
 public:
  virtual ~Task() = default;

  /// Reads the next micro batch. @throws Error
  virtual void fetch() = 0;
  /// Its loss.
  virtual TaskLoss forward() = 0;
  virtual double waited_s() const = 0;  ///< seconds that fetch() waited for decoding, since the start
  virtual DataSize size() const = 0;

  /// Which part of the model the next step trains, where parts take turns; the same on all ranks.
  virtual int64_t branch() const { return 0; }
  /// The optimizer step of the micro batches since the last call is done: a place to close a step's statistics.
  virtual void step_done() {}
  /// Further numbers of the steps since the last call, flat: members of the next row of metrics.jsonl.
  virtual Json take_metrics() { return Json::object(); }
  /// Validation after `step` steps; writes its own rows. @return whether a checkpoint should be saved even if none is
  /// due  @throws Error(kInterrupted), Error(kTerminated) between batches
  virtual bool validate(MetricsLog& log, int64_t step) {
    (void)log;
    (void)step;
    return false;
  }
  /// Writes a checkpoint. @return its folder  @throws Error(kFile)
  virtual std::string save(const LoopState& state) = 0;
};

}  // namespace flexor::train
