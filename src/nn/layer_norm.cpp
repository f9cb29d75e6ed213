#include "nn/layer_norm.h"

#include "tensor/tensor.h"

namespace flexor::nn {

Tensor LayerNorm::operator()(const Tensor& x) const {
  return at::layer_norm(x, {x.size(-1)}, weight, bias, eps);
}

LayerNorm make_layer_norm(int64_t width) {
  return {at::empty({width}, at::kFloat), at::empty({width}, at::kFloat)};
}

}  // namespace flexor::nn
