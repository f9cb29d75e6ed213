#include "data/seed_sequence.h"

#include <array>
#include <vector>

namespace flexor::data {
namespace {

constexpr uint32_t kShift = 16;

// Hashes words one after the other; its constant moves on with each.
struct Hash {
  uint32_t constant, multiplier;
  uint32_t operator()(uint32_t value) {
    value ^= constant;
    constant *= multiplier;
    value *= constant;
    return value ^ (value >> kShift);
  }
};

uint32_t mix(uint32_t x, uint32_t y) {
  const uint32_t result = 0xca01f9ddU * x - 0x4973f715U * y;
  return result ^ (result >> kShift);
}

std::array<uint32_t, 4> make_pool(std::span<const uint32_t> words) {
  std::array<uint32_t, 4> pool{};
  Hash hash{0x43b0d7e5U, 0x931e8875U};
  for (size_t i = 0; i < pool.size(); ++i) {
    pool[i] = hash(i < words.size() ? words[i] : 0);
  }
  for (size_t from = 0; from < pool.size(); ++from) {
    for (size_t to = 0; to < pool.size(); ++to) {
      if (from != to) {
        pool[to] = mix(pool[to], hash(pool[from]));
      }
    }
  }
  for (size_t from = pool.size(); from < words.size(); ++from) {
    for (uint32_t& to : pool) {
      to = mix(to, hash(words[from]));
    }
  }
  return pool;
}

/// The first N 64-bit words that a pool gives.
template <size_t N>
std::array<uint64_t, N> state_of(const std::array<uint32_t, 4>& pool) {
  Hash hash{0x8b51f9ddU, 0x58f38dedU};
  std::array<uint64_t, N> state;
  size_t next = 0;
  for (uint64_t& word : state) {
    const uint64_t low = hash(pool[next++ % pool.size()]), high = hash(pool[next++ % pool.size()]);
    word = low | (high << 32U);
  }
  return state;
}

}  // namespace

uint64_t seed_sequence_u64(std::span<const uint64_t> entropy) {
  std::vector<uint32_t> words;  // each integer as 32-bit words, the lowest first, without leading zeros
  for (const uint64_t value : entropy) {
    words.push_back(static_cast<uint32_t>(value));
    if ((value >> 32U) != 0) {
      words.push_back(static_cast<uint32_t>(value >> 32U));
    }
  }
  return state_of<1>(make_pool(words))[0];
}

std::array<uint64_t, 4> seed_sequence_state(std::span<const uint32_t> words) {
  return state_of<4>(make_pool(words));
}

}  // namespace flexor::data
