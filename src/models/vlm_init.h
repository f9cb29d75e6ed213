#pragma once
#include <string>

#include "models/policy_model.h"
#include "models/weights.h"

namespace flexor::models {

/// Fills vision tower, projector and language model from a Hugging Face PaliGemma folder (model.safetensors or shards);
/// both key layouts of the transformers library are read (`language_model.model.*` and `model.language_model.*`).
/// The other parameters (expert, action and time projections) are left alone: call init_weights() first.
/// Its lm_head becomes the policy's; without one it is the embedding, to which PaliGemma ties it.
/// @throws Error(kFile), Error(kCheckpoint) if a tensor is missing or misshapen (all listed)
LoadReport load_vlm(PolicyModel& model, const std::string& folder);

}  // namespace flexor::models
