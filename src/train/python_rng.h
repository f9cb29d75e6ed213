#pragma once
#include <cstdint>
#include <string>

namespace flexor::train {

/// rng_state.safetensors: the states of Python's, NumPy's and PyTorch's generators that LeRobot restores when it
/// resumes a run. Flexor has no such states (see noise.h), so they are those of random.seed(s), numpy.random.seed(s)
/// and torch.manual_seed(s). @throws Error(kFile)
void write_rng_state(uint64_t seed, const std::string& path);

}  // namespace flexor::train
