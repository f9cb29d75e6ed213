#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <string>
#include <vector>

#include "schema/batch.h"

namespace flexor::data {

/// What the loader hands out: features under the policy's names, neither normalised nor tokenised.
/// Axes: B batch, H x W picture, T action horizon, S state dims, A action dims (all real, unpadded).
struct RawBatch {
  std::vector<schema::CameraBatch> cameras;  ///< uint8 [B, 3, H, W] (dataset.resize=uint8) or float32 0..1
  std::vector<std::string> tasks;            ///< B task texts as recorded
  at::Tensor state;                          ///< [B, S] float32; undefined if the dataset has none
  at::Tensor action;                         ///< [B, T, A] float32; undefined when only observations are read
  at::Tensor action_is_pad;                  ///< [B, T] bool, true beyond the episode's end
  std::vector<int64_t> episodes, frames;     ///< B: episode_index and frame_index, for messages and evaluation

  int64_t size() const { return static_cast<int64_t>(tasks.size()); }
};

}  // namespace flexor::data
