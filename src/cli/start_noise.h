#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>

#include "schema/batch_file.h"
#include "schema/policy_config.h"

namespace flexor::cli {

/// Noise that sampling starts from, [B, T, max_action_dim]: the batch's `sample_noise`, else its `noise`, else drawn.
/// @param seed  of what is drawn
at::Tensor start_noise(const schema::BatchFile& file, const schema::PolicyConfig& config, int64_t seed);

}  // namespace flexor::cli
