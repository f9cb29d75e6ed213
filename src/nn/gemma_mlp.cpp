#include "nn/gemma_mlp.h"

#include "nn/fused_ops.h"
#include "tensor/tensor.h"

namespace flexor::nn {

Tensor GemmaMlp::operator()(const Tensor& x, bool fused) const {
  const Tensor gate = gate_proj(x, fused), up = up_proj(x, fused);
  return down_proj(fused ? fused_geglu(gate, up) : at::gelu(gate, "tanh") * up, fused);
}

}  // namespace flexor::nn
