#include "nn/run_block.h"

#include "tensor/param_block.h"
#include "tensor/tensor.h"

namespace flexor::nn {

Tensors run_block(const Tensor& parameter, const std::function<Tensors(const Tensors&)>& body, const Tensors& inputs,
                  bool recompute) {
  BlockObserver* const observer = block_observer();
  if (observer == nullptr) {
    return recompute ? checkpoint(body, inputs) : body(inputs);
  }
  const auto watched = [observer, parameter, body](const Tensors& in) {
    observer->before_block(parameter);
    return body(in);
  };
  Tensors outputs = recompute ? checkpoint(watched, inputs) : watched(inputs);
  observer->after_block(parameter, outputs);
  return outputs;
}

}  // namespace flexor::nn
