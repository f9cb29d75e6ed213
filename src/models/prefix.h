#pragma once
#include <ATen/core/Tensor.h>
#include <vector>

#include "models/flow_net.h"
#include "models/policy_model.h"
#include "schema/batch.h"
#include "schema/policy_config.h"

namespace flexor::models {

/// One camera as the vision tower takes it.
struct CameraInput {
  at::Tensor pixels;  ///< [B, 3, S, S] float32 in [-1, 1]; all -1 for a missing camera
  bool present = true;
};

/// Resizes, pads and scales the pictures. Order: cameras of the configuration that the batch has, then the missing
/// ones.
/// @param with_missing  also return the missing ones
std::vector<CameraInput> prepare_cameras(const schema::Batch& batch, const schema::PolicyConfig& config,
                                         bool with_missing);

/// Embedded observation: the picture tokens of every camera, then the prompt. Axes: B batch, P tokens, D width.
struct Prefix {
  at::Tensor embs;        ///< [B, P, D]
  at::Tensor pad;         ///< [B, P] bool, true = real token
  bool all_real = false;  ///< no token is padding: no mask is needed
};

/// The batch may hold k prompts for each of its B observations, as k B rows of tokens, observation by observation
/// within each of the k: the pictures are encoded once. B in `embs` and `pad` is k B then. With exact savings missing
/// cameras are left out and the prompt is cut behind the longest one of the batch. Taps: image.*, image_mask.*,
/// vision_tower.0, image_features.0.
Prefix embed_prefix(FlowNet& net, const schema::Batch& batch, const schema::PolicyConfig& config,
                    const ComputeOptions& options);

}  // namespace flexor::models
