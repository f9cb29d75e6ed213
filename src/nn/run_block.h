#pragma once
#include <ATen/core/Tensor.h>
#include <functional>

#include "nn/checkpoint.h"

namespace flexor::nn {

/// One block of a model: `body(inputs)`, announced to the process's BlockObserver if there is one. All parameters that
/// `body` reads are of this block or of none (see ModelBlocks).
/// @param parameter  any parameter of the block
/// @param recompute  keep the inputs only and compute again for the gradient, as nn::checkpoint()
Tensors run_block(const at::Tensor& parameter, const std::function<Tensors(const Tensors&)>& body,
                  const Tensors& inputs, bool recompute);

}  // namespace flexor::nn
