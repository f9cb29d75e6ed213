#pragma once
#include <ATen/core/Generator.h>

#include "models/policy_model.h"

namespace flexor::models {

/// Random parameters for training from scratch, a function of the generator alone. Linear weights and biases are
/// uniform in +-1/sqrt(inputs) as PyTorch's, attention and MLP weights of the Gemma stacks and of the vision tower normal
/// with deviation 1/sqrt(inputs), embeddings normal (0.02), norms start as the identity, adaRMS modulations at zero
/// (bias included, so that gates start at ... see init.cpp). Unused lm_heads are zero.
void init_weights(PolicyModel& model, at::Generator& generator);

}  // namespace flexor::models
