#pragma once
#include <ATen/core/Tensor.h>
#include <functional>
#include <vector>

namespace flexor::nn {

using Tensors = std::vector<at::Tensor>;

/// Activation checkpointing: runs `block` without a graph, and once more with one when its gradient is due, under the
/// same random numbers and autocast state. Weights are captured by the block and get their gradients as usual. Without
/// grad mode the block is simply run. The block must contain something trainable. Undefined tensors are allowed among
/// inputs and outputs. A second backward pass without retain_graph throws Error(kRuntime).
Tensors checkpoint(const std::function<Tensors(const Tensors&)>& block, const Tensors& inputs);

/// A differentiable function of `inputs` with a hand-written gradient.
/// @param saved     tensors that forward and backward read; never differentiated
/// @param forward   (inputs, saved) -> output; runs without a graph
/// @param backward  (gradient of the output, saved, needs) -> gradients of the inputs; where needs[i] is false,
/// gradient i
///                  is not wanted and may be left undefined
/// A second backward pass without retain_graph throws Error(kRuntime).
at::Tensor custom_gradient(
    const Tensors& inputs, const Tensors& saved,
    const std::function<at::Tensor(const Tensors& inputs, const Tensors& saved)>& forward,
    std::function<Tensors(const at::Tensor& grad, const Tensors& saved, const std::vector<bool>& needs)> backward);

/// `x` unchanged; `weight` receives a gradient of zeros when x receives one. The reference computes some queries that
/// nobody reads: their projection gets a zero gradient, which AdamW decays, instead of none, which it skips.
at::Tensor with_zero_gradient(const at::Tensor& x, const at::Tensor& weight);

}  // namespace flexor::nn
