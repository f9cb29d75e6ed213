#include "nn/linear.h"

#include "nn/fast_linear.h"
#include "tensor/absent.h"
#include "tensor/tensor.h"

namespace flexor::nn {

Tensor Linear::operator()(const Tensor& x, bool fused) const {
  const Tensor y = fused ? fast_linear(x, weight, bias) : at::linear(x, weight, bias);
  if (!lora_a.defined()) {
    return y;
  }
  const Tensor update = at::linear(at::linear(x.to(lora_a.scalar_type()), lora_a), lora_b) * lora_scale;
  return y + update.to(y.scalar_type());
}

Tensor Linear::merged() const {
  const at::NoGradGuard no_graph;
  const Tensor a = present(lora_a.detach()).to(at::kFloat), b = present(lora_b.detach()).to(at::kFloat);
  const Tensor update = at::matmul(b, a) * lora_scale;  // [out, in]
  return (present(weight.detach()).to(at::kFloat) + update).to(weight.scalar_type());
}

void Linear::params(ParamVisitor& v) {
  v.linear(*this);
  v("weight", weight);
  if (bias.defined()) {
    v("bias", bias);
  }
  if (lora_a.defined()) {
    v("lora_A.weight", lora_a);
    v("lora_B.weight", lora_b);
  }
}

Linear make_linear(int64_t in, int64_t out, bool bias, at::ScalarType dtype) {
  Linear linear;
  linear.weight = at::empty({out, in}, dtype);
  if (bias) {
    linear.bias = at::empty({out}, dtype);
  }
  return linear;
}

}  // namespace flexor::nn
