#pragma once
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <memory>
#include <string>
#include <vector>

#include "models/value_config.h"
#include "models/value_net.h"

namespace flexor::models {

/// One camera of a batch. Axes: B batch, S picture side.
struct ValueCamera {
  std::string name;   ///< base_0_rgb, left_wrist_0_rgb, right_wrist_0_rgb
  at::Tensor pixels;  ///< [B, 3, S, S] uint8, or float32 in [-1, 1]
  at::Tensor mask;    ///< [B] bool, false: this sample has no such picture; undefined: all have it
};

/// What the value model takes. Axes: B batch, L prompt tokens.
struct ValueBatch {
  std::vector<ValueCamera> cameras;  ///< in any order; the model sorts them by name
  at::Tensor tokens;                 ///< [B, L] int64, padded on the right
  at::Tensor token_mask;             ///< [B, L] bool
  int64_t size() const { return tokens.size(0); }
};

/// How the value model computes.
struct ValueOptions {
  /// Skip what has no influence on the result: Gemma3 layers that the expert does not read, pictures that no sample
  /// has, padding that all prompts share.
  bool exact_savings = true;
  bool fused = true;      ///< attention and elementwise chains in few passes over memory
  bool autocast = false;  ///< bfloat16 matrix products; head, softmax and loss stay float32
  bool gradient_checkpointing = false;
  bool stop_gradient_to_vlm = false;  ///< trains expert and head only
};

/// RECAP's value model (RLinf recap_value_model): cameras -> SigLIP2 -> Linear -> Gemma3 together with the prompt,
/// whose keys and values a small Gemma expert with one learned [CLS] token reads -> logits over the bins of the value.
/// Not thread-safe.
class ValueModel {
 public:
  /// Uninitialised float32 parameters. @throws Error(kConfig) if sizes contradict each other
  explicit ValueModel(const ValueConfig& config, const ValueOptions& options = {});

  ValueConfig& config() { return config_; }
  const ValueConfig& config() const { return config_; }
  ValueOptions& options() { return options_; }
  ValueNet& net() { return net_; }
  /// Under the reference's names (value_expert.*, value_head.*).
  void params(nn::ParamVisitor& visitor) { net_.params(visitor); }
  ModelBlocks blocks() const;  ///< the order in which logits() goes through them

  /// @param dropout  draws value_dropout; null: none (evaluation)
  /// @return [B, num_bins] float32
  /// @throws Error(kData) if the batch does not fit the configuration
  /// Taps: prefix_embs, prefix_pad_masks, prefix_position_ids, kv.N.key, kv.N.value, cls_hidden
  at::Tensor logits(const ValueBatch& batch, at::Generator* dropout = nullptr);

  /// Expectation of the bins. @param logits  [B, num_bins]  @return [B] float32
  at::Tensor values(const at::Tensor& logits) const;

 private:
  void check(const ValueBatch& batch) const;

  ValueConfig config_;
  ValueOptions options_;
  ValueNet net_;
};

/// Which parameters are trained: all but SigLIP's pooling head, Gemma3 layers (and parts) that the expert does not
/// read, and what is frozen. @param freeze_vision_encoder  SigLIP  @param freeze_vlm  Gemma3 only
void set_trainable(ValueModel& model, bool freeze_vision_encoder, bool freeze_vlm);

}  // namespace flexor::models
