#include "train/python_rng.h"

#include <array>
#include <vector>

#include "tensor/rng.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"

namespace flexor::train {

namespace {

/// State of the Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998) before its first number.
constexpr size_t kWords = 624;
using Twister = std::array<uint32_t, kWords>;

Twister seeded(uint32_t seed) {
  Twister state;
  state[0] = seed;
  for (uint32_t i = 1; i < kWords; ++i) {
    state[i] = 1812433253U * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
  }
  return state;
}

/// The authors' init_by_array, which random.seed(int) uses with the 32-bit digits of the number.
Twister seeded_by_array(const std::vector<uint32_t>& key) {
  Twister state = seeded(19650218U);
  size_t i = 1, j = 0;
  const auto advance = [&] {
    if (++i == kWords) {
      state[0] = state[kWords - 1];
      i = 1;
    }
  };
  for (size_t k = std::max(kWords, key.size()); k > 0; --k) {
    state[i] = (state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1664525U)) + key[j] + static_cast<uint32_t>(j);
    j = (j + 1) % key.size();
    advance();
  }
  for (size_t k = kWords - 1; k > 0; --k) {
    state[i] = (state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1566083941U)) - static_cast<uint32_t>(i);
    advance();
  }
  state[0] = 0x80000000U;
  return state;
}

Tensor to_tensor(const Twister& state, bool with_index) {
  std::vector<int64_t> values(state.begin(), state.end());
  if (with_index) {
    values.push_back(static_cast<int64_t>(kWords));
  }
  return at::tensor(values, at::kLong);
}

}  // namespace

void write_rng_state(uint64_t seed, const std::string& path) {
  const auto low = static_cast<uint32_t>(seed), high = static_cast<uint32_t>(seed >> 32);
  const std::vector<uint32_t> digits = high != 0 ? std::vector<uint32_t>{low, high} : std::vector<uint32_t>{low};
  const std::vector<NamedTensor> tensors = {
      {"np_rng_has_gauss", at::tensor({int64_t{0}}, at::kLong)},
      {"np_rng_state_index", at::tensor({static_cast<int64_t>(kWords)}, at::kLong)},
      {"np_rng_state_values", to_tensor(seeded(low), false)},
      {"py_rng_state", to_tensor(seeded_by_array(digits), true)},
      {"py_rng_version", at::tensor({int64_t{3}}, at::kLong)},
      {"np_rng_cached_gaussian", at::zeros({1}, at::kFloat)},
      {"torch_rng_state", generator_state(make_generator(seed))},
  };
  write_safetensors(path, tensors);
}

}  // namespace flexor::train
