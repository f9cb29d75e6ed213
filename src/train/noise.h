#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>

#include "schema/policy_config.h"

namespace flexor::train {

/// Streams of random numbers of a run. Each number is a pure function of (seed, stream, place), so there is no state to
/// lose: neither a resumed run nor another number of ranks or threads changes what is drawn.
enum class Stream : uint64_t { kInit = 1, kLora = 2, kTraining = 3, kValidation = 4 };

/// Noise and times of one batch for the flow-matching loss.
struct FlowDraw {
  at::Tensor noise;  ///< [B, chunk_size, max_action_dim] float32, standard normal
  at::Tensor time;   ///< [B] float32, offset + scale * Beta(alpha, beta)
};

/// Sample j of the batch gets its own generator, seeded by (seed, stream, batch, first + j); drawn on the CPU.
/// @param batch  number of the step, from the start of the run  @param first  place of sample 0 among the step's
/// samples
FlowDraw draw_flow(const schema::PolicyConfig& config, uint64_t seed, Stream stream, int64_t batch, int64_t size,
                   int64_t first = 0);

}  // namespace flexor::train
