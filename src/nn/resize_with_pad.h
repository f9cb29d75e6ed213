#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>

namespace flexor::nn {

/// Scales pictures to fit into height x width, keeping their proportions, and centres them on black: bilinear with
/// half-pixel centres and no antialias, sizes truncated, odd gaps one larger at bottom and right. Pictures that have
/// the size already are returned as they are.
/// @param pictures  [B, 3, H, W]; float32 0..1 (the result is clamped to that), or uint8 (rounded half to even)
at::Tensor resize_with_pad(const at::Tensor& pictures, int64_t height, int64_t width);

}  // namespace flexor::nn
