#pragma once
#include <ATen/core/Tensor.h>
#include <vector>

#include "models/policy_model.h"
#include "schema/batch.h"

namespace flexor::recap {

/// The flow-matching loss of a batch as openpi and RLinf have it: over all padded action dimensions, unweighted.
struct PolicyLoss {
  at::Tensor loss;                 ///< scalar with a graph
  std::vector<double> per_sample;  ///< B
  double real_dims = 0;            ///< the same over the robot's own dimensions
};
/// @param noise [B, T, max_action_dim] float32  @param time [B] float32
PolicyLoss policy_loss(models::PolicyModel& model, const schema::Batch& batch, const at::Tensor& noise,
                       const at::Tensor& time);

}  // namespace flexor::recap
