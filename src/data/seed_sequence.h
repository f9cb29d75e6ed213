#pragma once
#include <cstdint>
#include <span>

namespace flexor::data {

/// First 64 bits of numpy.random.SeedSequence(entropy).generate_state(1, uint64): a hash that spreads small, similar
/// integers over all seeds. (numpy/random/bit_generator.pyx; O'Neill's seed_seq_fe, 128-bit pool)
uint64_t seed_sequence_u64(std::span<const uint64_t> entropy);

}  // namespace flexor::data
