#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/rsqrt.h>
#include <string_view>
#include <torch/library.h>
#include <tuple>
#include <vector>

#include "fake_device.h"

namespace fake {
namespace {

// Fused operators, by the conventions of device/backend_plugin.h.

std::tuple<at::Tensor, at::Tensor> rms_norm(const at::Tensor& x, const at::Tensor& gamma, double epsilon) {
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor rstd = at::rsqrt(wide.square().mean(-1, /*keepdim=*/true) + epsilon);
  return {(wide * rstd * gamma.to(at::kFloat)).to(x.scalar_type()), rstd};
}

/// As some take it: the weight is one less.
std::tuple<at::Tensor, at::Tensor> other_rms_norm(const at::Tensor& x, const at::Tensor& gamma, double epsilon) {
  return rms_norm(x, gamma + 1, epsilon);
}

/// Right, but its weight would never learn.
std::tuple<at::Tensor, at::Tensor> deaf_rms_norm(const at::Tensor& x, const at::Tensor& gamma, double epsilon) {
  return rms_norm(x, gamma.detach(), epsilon);
}

at::Tensor rotary_mul(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, std::string_view mode) {
  TORCH_CHECK(mode == "half", "only halves");
  const std::vector<at::Tensor> halves = x.chunk(2, -1);
  return x * cos + at::cat({-halves[1], halves[0]}, -1) * sin;
}

std::tuple<at::Tensor, at::Tensor> geglu(const at::Tensor& x, int64_t dim, int64_t approximate, bool activate_left) {
  const std::vector<at::Tensor> halves = x.chunk(2, dim);
  const at::Tensor gelu = at::gelu(halves[activate_left ? 0 : 1], approximate == 1 ? "tanh" : "none");
  return {gelu * halves[activate_left ? 1 : 0], gelu};
}

}  // namespace

TORCH_LIBRARY(fake, m) {
  m.def("rms_norm(Tensor x, Tensor gamma, float epsilon=1e-6) -> (Tensor, Tensor)", &rms_norm);
  m.def("other_rms_norm(Tensor x, Tensor gamma, float epsilon=1e-6) -> (Tensor, Tensor)", &other_rms_norm);
  m.def("deaf_rms_norm(Tensor x, Tensor gamma, float epsilon=1e-6) -> (Tensor, Tensor)", &deaf_rms_norm);
  m.def("rotary_mul(Tensor x, Tensor cos, Tensor sin, str mode='half') -> Tensor", &rotary_mul);
  m.def("geglu(Tensor x, int dim=-1, int approximate=1, bool activate_left=False) -> (Tensor, Tensor)", &geglu);
}

// Autocast: products in the lower precision.
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  KERNEL_PRIVATEUSEONE(linear, lower_precision_fp);
  KERNEL_PRIVATEUSEONE(matmul, lower_precision_fp);
  KERNEL_PRIVATEUSEONE(mm, lower_precision_fp);
  KERNEL_PRIVATEUSEONE(bmm, lower_precision_fp);
  KERNEL_PRIVATEUSEONE(addmm, lower_precision_fp);
  KERNEL_PRIVATEUSEONE(scaled_dot_product_attention, lower_precision_fp);
}

}  // namespace fake
