#include "nn/fast_linear.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/mm.h>
#include <optional>
#include <string_view>

#include "nn/checkpoint.h"
#include "tensor/tensor.h"

namespace flexor::nn {
namespace {

constexpr int64_t kFewestRows = 16;  // below, reordering the weight costs more than it saves

using LinearPointwise = Tensor(const Tensor&, const Tensor&, const std::optional<Tensor>&, std::string_view,
                               c10::List<std::optional<c10::Scalar>>, std::optional<std::string_view>);

/// PyTorch's own door to oneDNN's inner product, where this build of PyTorch has it.
const std::optional<c10::TypedOperatorHandle<LinearPointwise>>& onednn() {
  static const auto handle = [] {
    std::optional<c10::TypedOperatorHandle<LinearPointwise>> found;
    if (at::globalContext().hasMKLDNN()) {
      if (const auto schema = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""})) {
        found = schema->typed<LinearPointwise>();
      }
    }
    return found;
  }();
  return handle;
}

bool takes(const Tensor& x, const Tensor& weight) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && weight.scalar_type() == at::kFloat && weight.is_contiguous() &&
         x.numel() >= kFewestRows * x.size(-1) && !at::autocast::is_autocast_enabled(at::kCPU) &&
         at::globalContext().userEnabledMkldnn() && onednn().has_value();
}

/// x W^T + b with rows [M, in], W [out, in]; W may be a transposed view.
Tensor product(const Tensor& rows, const Tensor& weight, const std::optional<Tensor>& bias) {
  return onednn()->call(rows, weight, bias, "none", c10::List<std::optional<c10::Scalar>>(), "");
}

}  // namespace

// Axes: M rows (all leading axes of x), I inputs, O outputs.
Tensor fast_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (!takes(x, weight)) {
    return at::linear(x, weight, bias);
  }
  const Tensor rows = x.reshape({-1, x.size(-1)});  // [M, I]
  const Tensor out = custom_gradient(
      {rows, weight, bias}, {rows, weight},
      [](const Tensors& in, const Tensors&) {
        return product(in[0], in[1], in[2].defined() ? std::optional(in[2]) : std::nullopt);
      },
      [](const Tensor& grad, const Tensors& saved, const std::vector<bool>& needs) {
        const Tensor g = grad.contiguous();  // [M, O]
        Tensors d(3);
        if (needs[0]) {
          d[0] = product(g, saved[1].t(), std::nullopt);
        }
        if (needs[1]) {
          d[1] = at::mm(g.t(), saved[0]);
        }
        if (needs[2]) {
          d[2] = g.sum(0);
        }
        return d;
      });
  auto shape = x.sizes().vec();
  shape.back() = weight.size(0);
  return out.view(shape);
}

}  // namespace flexor::nn
