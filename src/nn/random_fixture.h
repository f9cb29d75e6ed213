#pragma once
#include "tensor/rng.h"
#include "tensor/tensor.h"

namespace flexor::nn {

/// Standard normal numbers, float32, which depend on the seed alone.
inline Tensor random(at::IntArrayRef shape, uint64_t seed) {
  return at::randn(shape, make_generator(seed), at::kFloat);
}

}  // namespace flexor::nn
