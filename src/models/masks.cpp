#include "models/masks.h"

#include "tensor/tensor.h"

namespace flexor::models {
namespace {
constexpr double kMasked = -2.3819763e38;
}  // namespace

Tensor suffix_att_masks(bool is_pi05, int64_t horizon, const at::TensorOptions& options) {
  Tensor att = at::zeros({is_pi05 ? horizon : horizon + 1}, options.dtype(at::kFloat));
  att.narrow(0, 0, is_pi05 ? 1 : 2).fill_(1.0);
  return att;
}

Tensor attention_rows(const Tensor& att, const Tensor& pad, int64_t first) {
  const Tensor block = att.cumsum(0);
  const Tensor visible = block.unsqueeze(0) <= block.slice(0, first).unsqueeze(1);  // [Q, N]
  return visible.unsqueeze(0) & pad.unsqueeze(1) & pad.slice(1, first).unsqueeze(2);
}

Tensor additive_mask(const Tensor& allowed) {
  return at::where(allowed, 0.0, kMasked).to(at::kFloat).unsqueeze(1);
}

Tensor position_ids(const Tensor& pad) {
  return pad.to(at::kLong).cumsum(1) - 1;
}

int64_t longest_prompt(const Tensor& mask) {
  const Tensor ends = at::arange(1, mask.size(1) + 1, mask.options().dtype(at::kLong));
  return std::max<int64_t>(1, (mask * ends).max().item<int64_t>());
}

}  // namespace flexor::models
