#pragma once
#include <ATen/core/Generator.h>

#include "models/policy_model.h"

namespace flexor::models {

/// Random parameters for training from scratch, a function of the generator's state alone (drawn in float32 on the CPU,
/// in the order of the parameters):
/// - attention, MLP and vision weights: normal, deviation 1/sqrt(inputs); their biases zero
/// - projector, action and pi0.5's time projections: weight and bias uniform in +-1/sqrt(inputs), as PyTorch's Linear
/// - pi0's state and action-time projections, which make its tokens: normal, so that the tokens have about unit
/// variance;
///   the uniform draw's narrower ones drown in the residual stream and the policy hardly learns in its first steps
/// - embeddings: normal, deviation 1/sqrt(width), which the factor sqrt(width) turns into unit tokens
/// - norms: the identity; the modulations of adaptive norms are constant then: scale 0, shift 0, gate 1 (a random bias
///   of about 0, PyTorch's default, would close the gates of an expert that starts from nothing)
/// - lm_heads, which nothing reads: zeros that take no memory
void init_weights(PolicyModel& model, at::Generator& generator);

}  // namespace flexor::models
