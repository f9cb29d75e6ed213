#include "recap/numpy_random.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "data/seed_sequence.h"

namespace flexor::recap {
namespace {

constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void hash_block(std::array<uint32_t, 8>& state, const char* block) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i) {
    const auto byte = [&](size_t k) { return uint32_t{static_cast<unsigned char>(block[4 * i + k])}; };
    w[i] = byte(0) << 24U | byte(1) << 16U | byte(2) << 8U | byte(3);
  }
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t a = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3U);
    const uint32_t b = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10U);
    w[i] = w[i - 16] + a + w[i - 7] + b;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t one = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t first = h + one + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const uint32_t zero = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t second = zero + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  const std::array<uint32_t, 8> round = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state.size(); ++i) {
    state[i] += round[i];
  }
}

Wide operator+(Wide a, Wide b) {
  const uint64_t low = a.low + b.low;
  return {a.high + b.high + (low < a.low ? 1 : 0), low};
}

/// The full product of two 64-bit numbers, from halves.
Wide multiply(uint64_t a, uint64_t b) {
  constexpr uint64_t kMask = 0xffffffffU;
  const uint64_t a0 = a & kMask, a1 = a >> 32U, b0 = b & kMask, b1 = b >> 32U;
  const uint64_t middle = a1 * b0 + ((a0 * b0) >> 32U);
  const uint64_t cross = a0 * b1 + (middle & kMask);
  return {a1 * b1 + (middle >> 32U) + (cross >> 32U), (cross << 32U) | ((a0 * b0) & kMask)};
}

Wide operator*(Wide a, Wide b) {
  Wide product = multiply(a.low, b.low);
  product.high += a.high * b.low + a.low * b.high;
  return product;
}

constexpr Wide kMultiplier{0x2360ed051fc65da4U, 0x4385df649fccf645U};

}  // namespace

std::string sha256_hex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const uint8_t byte : sha256(text)) {
    hex += kDigits[byte / 16];
    hex += kDigits[byte % 16];
  }
  return hex;
}

std::array<uint8_t, 32> sha256(std::string_view text) {
  constexpr size_t kBlock = 64;
  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::string padded(text);
  padded.push_back('\x80');
  padded.resize((padded.size() + 8 + kBlock - 1) / kBlock * kBlock - 8, '\0');
  const uint64_t bits = uint64_t{text.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) {
    padded.push_back(static_cast<char>(bits >> static_cast<unsigned>(shift) & 0xffU));
  }
  for (size_t start = 0; start < padded.size(); start += kBlock) {
    hash_block(state, padded.data() + start);
  }
  std::array<uint8_t, 32> digest;
  for (size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<uint8_t>(state[i / 4] >> (24U - 8U * (i % 4)) & 0xffU);
  }
  return digest;
}

NumpyGenerator::NumpyGenerator(Wide seed) {
  std::vector<uint32_t> words = {static_cast<uint32_t>(seed.low), static_cast<uint32_t>(seed.low >> 32U),
                                 static_cast<uint32_t>(seed.high), static_cast<uint32_t>(seed.high >> 32U)};
  const std::array<uint64_t, 4> s = data::seed_sequence_state(words);
  const Wide initial{s[0], s[1]}, sequence{s[2], s[3]};
  increment_ = {sequence.high << 1U | sequence.low >> 63U, sequence.low << 1U | 1U};
  state_ = (increment_ + initial) * kMultiplier + increment_;
}

uint64_t NumpyGenerator::next() {
  state_ = state_ * kMultiplier + increment_;
  return std::rotr(state_.high ^ state_.low, static_cast<int>(state_.high >> 58U));
}

uint32_t NumpyGenerator::next32() {
  if (has_kept_) {
    has_kept_ = false;
    return kept_;
  }
  const uint64_t bits = next();
  kept_ = static_cast<uint32_t>(bits >> 32U);
  has_kept_ = true;
  return static_cast<uint32_t>(bits);
}

double NumpyGenerator::uniform() {
  constexpr double kUnit = 1.0 / 9007199254740992.0;  // 2^-53
  return static_cast<double>(next() >> 11U) * kUnit;
}

int64_t NumpyGenerator::integer(int64_t n) {
  const auto range = static_cast<uint64_t>(n);
  constexpr uint64_t kWords = 1ULL << 32U;
  if (range == 1) {
    return 0;
  }
  if (range == kWords) {
    return next32();
  }
  if (range < kWords) {
    const auto small = static_cast<uint32_t>(range);
    const uint32_t threshold = (0U - small) % small;
    uint64_t product = uint64_t{next32()} * small;
    while (static_cast<uint32_t>(product) < threshold) {
      product = uint64_t{next32()} * small;
    }
    return static_cast<int64_t>(product >> 32U);
  }
  const uint64_t threshold = (0U - range) % range;
  Wide product = multiply(next(), range);
  while (product.low < threshold) {
    product = multiply(next(), range);
  }
  return static_cast<int64_t>(product.high);
}

int64_t NumpyGenerator::choice(std::span<const double> p) {
  std::vector<double> cumulative;
  double sum = 0;
  for (const double share : p) {
    cumulative.push_back(sum += share);
  }
  for (double& value : cumulative) {
    value /= sum;
  }
  const double u = uniform();
  return std::upper_bound(cumulative.begin(), cumulative.end(), u) - cumulative.begin();
}

}  // namespace flexor::recap
