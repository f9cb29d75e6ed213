#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <vector>

namespace flexor::data {

/// Batch memory that is used again once nobody but the pool refers to it: fresh pages cost a fault each. The tensors
/// that get() returned may be dropped on any thread.
class TensorPool {
 public:
  /// A contiguous CPU tensor with undefined content.
  at::Tensor get(at::IntArrayRef sizes, at::ScalarType dtype);

 private:
  std::vector<at::Tensor> tensors_;
};

}  // namespace flexor::data
