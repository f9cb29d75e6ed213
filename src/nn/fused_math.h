#pragma once
// Arithmetic of the fused kernels, written so that compilers turn loops over it into vector code. It calls no library
// function: one that a precompiled header brought in under other optimisation options would not be inlined.
#include <cstdint>

namespace flexor::nn {

/// bfloat16 as it lies in memory.
struct Bf16Bits {
  uint16_t bits;
};

inline float load(float value) {
  return value;
}
inline float load(Bf16Bits value) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(value.bits) << 16);
}

inline void store(float& to, float value) {
  to = value;
}
/// Rounds to nearest, ties to even; NaN stays NaN.
inline void store(Bf16Bits& to, float value) {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  to.bits = static_cast<uint16_t>(value == value ? rounded : 0x7fc0U);
}

/// e^x to about 1e-7 relative; arguments are clamped to the range of float.
inline float fast_exp(float x) {
  constexpr float kLog2e = 1.44269504088896341F, kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  x = x < -87.0F ? -87.0F : x;
  x = x > 88.0F ? 88.0F : x;
  const float shifted = __builtin_fmaf(x, kLog2e, kRound);
  const float n = shifted - kRound;
  float r = __builtin_fmaf(n, -kLn2High, x);
  r = __builtin_fmaf(n, -kLn2Low, r);
  float p = 1.9875691500e-4F;
  p = __builtin_fmaf(p, r, 1.3981999507e-3F);
  p = __builtin_fmaf(p, r, 8.3334519073e-3F);
  p = __builtin_fmaf(p, r, 4.1665795894e-2F);
  p = __builtin_fmaf(p, r, 1.6666665459e-1F);
  p = __builtin_fmaf(p, r, 5.0000001201e-1F);
  p = __builtin_fmaf(p * r, r, r) + 1.0F;
  const uint32_t power = __builtin_bit_cast(uint32_t, shifted) << 23;  // n in the exponent
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, p) + power);
}

/// GELU in its tanh form is x * sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3).
struct Gelu {
  float value;  ///< gelu(x)
  float slope;  ///< its derivative

  static Gelu at(float x) {
    constexpr float kScale = 1.5957691216057308F, kCubic = 0.044715F;  // 2 sqrt(2 / pi)
    const float square = x * x;
    const float gate = 1.0F / (1.0F + fast_exp(-kScale * x * __builtin_fmaf(kCubic, square, 1.0F)));
    const float inner = kScale * __builtin_fmaf(3.0F * kCubic, square, 1.0F);
    return {x * gate, __builtin_fmaf(x * gate * (1.0F - gate), inner, gate)};
  }
};

}  // namespace flexor::nn
