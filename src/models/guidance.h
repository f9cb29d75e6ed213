#pragma once
#include <ATen/core/Tensor.h>
#include <optional>

#include "models/policy_model.h"
#include "schema/batch.h"
#include "schema/policy_config.h"

namespace flexor::models {

/// The prompts whose velocities are mixed while sampling, as one batch. Axes: B observations, R rows: B when one prompt
/// counts, 2 B when two do, first all plain ones, then all guided ones.
struct Branches {
  schema::Batch batch;           ///< tokens and token_mask have R rows, everything else B
  std::optional<double> weight;  ///< of the guided half; none: R = B

  /// @param rows  [B, ...]  @return [R, ...]
  at::Tensor spread(const at::Tensor& rows) const;
  /// (1 - w) v_plain + w v_guided in float32. @param velocity  [R, T, A]  @return [B, T, A]
  at::Tensor mix(const at::Tensor& velocity) const;
};

/// @param guided  none, or a weight of 0: the batch's prompts alone; a weight of 1: the guided ones alone
/// @throws Error(kData) if the guided prompts do not fit the batch, Error(kConfig) if the weight is not finite
Branches plan_branches(const schema::Batch& batch, const std::optional<GuidedPrompt>& guided,
                       const schema::PolicyConfig& config);

}  // namespace flexor::models
