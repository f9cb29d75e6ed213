#include "nn/gemma_mlp.h"

#include "tensor/tensor.h"

namespace flexor::nn {

Tensor GemmaMlp::operator()(const Tensor& x) const {
  return down_proj(at::gelu(gate_proj(x), "tanh") * up_proj(x));
}

}  // namespace flexor::nn
