#include "tensor/rng.h"

#include <ATen/CPUGeneratorImpl.h>

#include "tensor/tensor.h"

namespace flexor {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators").
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

at::Generator make_generator(uint64_t seed) {
  return at::detail::createCPUGenerator(seed);
}

uint64_t stream_seed(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
  return mix(mix(mix(mix(seed) ^ a) ^ b) ^ c);
}

at::Tensor generator_state(const at::Generator& generator) {
  return generator.get_state();
}

}  // namespace flexor
