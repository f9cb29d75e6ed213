#pragma once
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <cstdint>

#include "schema/policy_config.h"

namespace flexor::models {

/// Times of the flow for one batch, [B] float32 in (0, 1]: offset + scale * Beta(alpha, beta); 1 is pure noise.
/// Drawn on the CPU from `generator`. @throws Error(kConfig) if alpha or beta is not positive
at::Tensor sample_time(int64_t batch, const schema::PolicyConfig& config, at::Generator& generator);

/// Standard normal noise [B, chunk_size, max_action_dim] float32, drawn on the CPU from `generator`.
at::Tensor sample_noise(int64_t batch, const schema::PolicyConfig& config, at::Generator& generator);

}  // namespace flexor::models
