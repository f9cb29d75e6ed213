#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/batch_reader.h"
#include "data/raw_batch.h"
#include "data/tokenizer.h"
#include "models/value_model.h"
#include "recap/recap_config.h"

namespace flexor::recap {

/// A trained value model that judges frames: what step 3 and validation run. Const but for its model; not thread-safe.
class ValueEstimator {
 public:
  /// @param checkpoint  .../global_step_N or any folder or file that models::open_value_model takes
  /// @param section     architecture for checkpoints that do not say their own (the reference's), tokenizer_path,
  ///                    precision, max_token_len
  /// @throws Error(kFile), Error(kCheckpoint), Error(kConfig) before anything is computed
  static ValueEstimator open(const std::string& checkpoint, const ValueModelSection& section);
  /// Around a model that is being trained.
  ValueEstimator(std::shared_ptr<models::ValueModel> model, data::Tokenizer tokenizer);

  /// What the checkpoint says of itself: bins, return range (null for the reference's checkpoints), tag.
  const models::ValueConfig& config() const { return model_->config(); }
  models::ValueModel& model() { return *model_; }
  const data::Tokenizer& tokenizer() const { return tokenizer_; }

  /// How frames are to be read for values(): uint8 pictures of the model's size, no actions.
  /// @param cameras  names of the dataset's cameras, from CameraSlots
  data::BatchFormat format(const std::vector<std::string>& cameras) const;

  /// The model's batch of raw frames: slots, masks, prompt tokens. A camera of `slots` that the batch lacks is masked.
  /// @param slots  pairs (slot, camera name of the dataset): see recap/camera_slots.h
  models::ValueBatch prepare(const data::RawBatch& raw,
                             const std::vector<std::pair<std::string, std::string>>& slots) const;

  /// V of every frame, in [v_min, v_max]. Builds no graph. A CPU computes them 16 at a time: large batches cost no
  /// memory.
  std::vector<float> values(const models::ValueBatch& batch);

 private:
  std::shared_ptr<models::ValueModel> model_;
  data::Tokenizer tokenizer_;
};

}  // namespace flexor::recap
