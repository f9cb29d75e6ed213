#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <string>
#include <vector>

namespace flexor::schema {

/// Pictures of one camera. Axes: B batch, H x W picture.
struct CameraBatch {
  std::string name;   ///< the policy's name, "observation.images.top"
  at::Tensor pixels;  ///< [B, 3, H, W], uint8 0..255 or float32 0..1; resized by the model when H x W is not its own
};

/// What a policy model takes: normalised, tokenised, on the model's device; pictures still raw.
/// Axes: B batch, L prompt tokens, T action horizon, S state dims, A action dims (real ones or already padded).
struct Batch {
  std::vector<CameraBatch> cameras;  ///< only those present in the data, in any order
  at::Tensor tokens;                 ///< [B, L] int64, padded on the right
  at::Tensor token_mask;             ///< [B, L] bool, true = real token (bos included)
  at::Tensor state;                  ///< [B, S] float32; may be undefined for pi0.5
  at::Tensor action;                 ///< [B, T, A] float32; undefined when sampling
  at::Tensor action_is_pad;          ///< [B, T] bool; may be undefined

  int64_t size() const { return tokens.size(0); }
};

/// The batch on a device; copies run beside the computation where they can (device::place).
Batch on_device(Batch batch, const at::Device& device);

}  // namespace flexor::schema
