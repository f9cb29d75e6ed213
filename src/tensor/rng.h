#pragma once
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <cstdint>

namespace flexor {

/// A CPU generator (Mersenne Twister, the one of PyTorch) of its own. Random numbers are always drawn on the CPU, so
/// that a run has the same numbers on every device.
at::Generator make_generator(uint64_t seed);

/// A seed for one of many independent streams: a hash (SplitMix64) of the run's seed and up to three numbers such as
/// purpose, epoch and sample. Equal arguments give equal seeds, on every machine.
uint64_t stream_seed(uint64_t seed, uint64_t a, uint64_t b = 0, uint64_t c = 0);

/// State as PyTorch stores it: uint8 [5056].
at::Tensor generator_state(const at::Generator& generator);

}  // namespace flexor
