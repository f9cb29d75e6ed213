#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "base/json.h"
#include "data/tokenizer.h"
#include "models/value_model.h"
#include "optim/adamw.h"
#include "train/progress.h"
#include "train/task.h"

namespace flexor::recap {

/// The best validation of a run so far.
struct BestValue {
  int64_t step = -1;  ///< none yet
  double loss = std::numeric_limits<double>::infinity();
};

/// The folder OUT/value of a run: checkpoints/global_step_N, and links best and last to two of them. A checkpoint holds
///   config.json, model.safetensors, tokenizer files   the model, which RLinf reads too (it takes *.safetensors)
///   training_state/                                    moments of the optimizer, counters: what resuming needs
class ValueRun {
 public:
  /// @param output_dir  OUT, which need not exist
  explicit ValueRun(const std::string& output_dir) : folder_(output_dir + "/value") {}

  const std::string& folder() const { return folder_; }
  std::string checkpoints() const { return folder_ + "/checkpoints"; }
  std::string checkpoint(int64_t step) const;
  /// The complete checkpoint with the largest step.
  std::optional<std::string> newest() const;
  /// What step 3 takes: `best`, else `last`. @throws Error(kFile) if there is neither
  std::string best() const;

  /// Writes checkpoints/global_step_N whole or not at all and points `last` to it, and `best` if it is the best one.
  /// @return its folder  @throws Error(kFile)
  std::string save(models::ValueModel& model, const data::Tokenizer& tokenizer, const train::LoopState& state,
                   const BestValue& best) const;
  /// The same for any model. @param step  N  @param write_model  fills a folder with config.json and model.safetensors
  std::string save(int64_t step, const std::function<void(const std::string& folder)>& write_model,
                   const data::Tokenizer& tokenizer, const train::LoopState& state, const BestValue& best) const;
  /// Points a link, `last` or `best`, to the checkpoint of this name.
  void point(const std::string& link, const std::string& name) const;
  /// Removes a checkpoint that was kept only for being the best.
  void remove(int64_t step) const;
  /// Removes checkpoints and metrics of an earlier run. @throws Error(kFile) if something else stands among them
  void clear() const;

 private:
  std::string folder_;
};

/// Fills optimizer moments and the best validation; the weights are the model's own affair.
/// @param checkpoint  .../global_step_N  @throws Error(kFile), Error(kCheckpoint)
train::Progress load_value_state(const std::string& checkpoint, optim::AdamW& optimizer, BestValue& best);

}  // namespace flexor::recap
