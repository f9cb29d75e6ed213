#pragma once
#include "models/policy_model.h"

namespace flexor::models {

/// Sets requires_grad of every parameter by the configuration: all are trained except the unused lm_heads, with
/// `freeze_vision_encoder` the vision tower (its projector still trains), with `train_expert_only` all of PaliGemma.
/// Parameters whose tensor was replaced (loading) need it again. Call before LoRA is added.
void set_trainable(PolicyModel& model);

}  // namespace flexor::models
