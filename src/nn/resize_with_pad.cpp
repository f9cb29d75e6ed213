#include "nn/resize_with_pad.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <algorithm>

#include "tensor/tensor.h"

namespace flexor::nn {

Tensor resize_with_pad(const Tensor& pictures, int64_t height, int64_t width) {
  const int64_t H = pictures.size(2), W = pictures.size(3);
  if (H == height && W == width) {
    return pictures;
  }
  // Written as the reference writes it: int(H / r) truncates, so another order of operations may give another size.
  const double ratio = std::max(static_cast<double>(W) / static_cast<double>(width),
                                static_cast<double>(H) / static_cast<double>(height));
  const auto new_height = static_cast<int64_t>(static_cast<double>(H) / ratio);
  const auto new_width = static_cast<int64_t>(static_cast<double>(W) / ratio);
  const bool bytes = pictures.scalar_type() == at::kByte;
  // Bytes go through PyTorch's integer kernel, which rounds by itself.
  const Tensor scaled = at::upsample_bilinear2d(pictures, {new_height, new_width}, /*align_corners=*/false);
  const Tensor small = bytes ? scaled : scaled.clamp(0.0, 1.0);
  const int64_t top = (height - new_height) / 2, left = (width - new_width) / 2;
  return at::constant_pad_nd(small, {left, width - new_width - left, top, height - new_height - top}, 0);
}

}  // namespace flexor::nn
