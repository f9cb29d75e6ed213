#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "data/tokenizer.h"
#include "models/value_model.h"
#include "optim/adamw.h"
#include "recap/training_folder.h"
#include "train/progress.h"
#include "train/task.h"

namespace flexor::recap {

/// The folder OUT/value of a run. A checkpoint holds
///   config.json, model.safetensors, tokenizer files   the model, which RLinf reads too (it takes *.safetensors)
///   training_state/                                    moments of the optimizer, counters: what resuming needs
class ValueRun : public TrainingFolder {
 public:
  /// @param output_dir  OUT, which need not exist
  explicit ValueRun(const std::string& output_dir)
      : TrainingFolder(output_dir + "/value", "a value model", "value_state.json", "") {}

  /// What step 3 takes: `best`, else `last`. @throws Error(kFile) if there is neither
  std::string best() const;

  /// Writes a checkpoint. @return its folder  @throws Error(kFile)
  std::string save(models::ValueModel& model, const data::Tokenizer& tokenizer, const train::LoopState& state,
                   const BestValue& best) const;
  /// The same for any model. @param step  N  @param write_model  fills a folder with config.json and model.safetensors
  std::string save(int64_t step, const std::function<void(const std::string& folder)>& write_model,
                   const data::Tokenizer& tokenizer, const train::LoopState& state, const BestValue& best) const;
};

/// What a model's numbers are of, for who keeps them: path and content of a checkpoint, file or folder, and
/// `precision`.
/// @throws Error(kFile)
Json judge_identity(const std::string& checkpoint, const std::string& precision);

/// Fills optimizer moments and the best validation; the weights are the model's own affair.
/// @param checkpoint  .../global_step_N  @throws Error(kFile), Error(kCheckpoint)
train::Progress load_value_state(const std::string& checkpoint, optim::AdamW& optimizer, BestValue& best);

}  // namespace flexor::recap
