#pragma once
#include <array>
#include <cstdint>
#include <span>

namespace flexor::data {

/// First 64 bits of numpy.random.SeedSequence(entropy).generate_state(1, uint64): a hash that spreads small, similar
/// integers over all seeds. (numpy/random/bit_generator.pyx; O'Neill's seed_seq_fe, 128-bit pool)
uint64_t seed_sequence_u64(std::span<const uint64_t> entropy);

/// numpy.random.SeedSequence(integer).generate_state(4, uint64), the integer as 32-bit words, the lowest first.
std::array<uint64_t, 4> seed_sequence_state(std::span<const uint32_t> words);

}  // namespace flexor::data
