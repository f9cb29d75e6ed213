#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flexor::recap {

/// SHA-256 (FIPS 180-4).
std::array<uint8_t, 32> sha256(std::string_view text);
/// Its 64 hexadecimal digits.
std::string sha256_hex(std::string_view text);

/// An unsigned integer of up to 128 bits.
struct Wide {
  uint64_t high = 0, low = 0;
  friend bool operator==(const Wide&, const Wide&) = default;
};

/// numpy.random.default_rng(seed): PCG64 (pcg_setseq_128_xsl_rr_64, O'Neill 2014) behind SeedSequence.
class NumpyGenerator {
 public:
  explicit NumpyGenerator(Wide seed);

  uint64_t next();   ///< 64 bits
  double uniform();  ///< in [0, 1): Generator.random()
  /// Generator.integers(0, n): Lemire's method on 32 bits, on 64 above; n >= 1.
  int64_t integer(int64_t n);
  /// Generator.choice(len(p), p=p): one uniform number, looked up to the right in the normalised cumulative sum.
  int64_t choice(std::span<const double> p);

 private:
  uint32_t next32();  // the low half of 64 bits, then the high one

  Wide state_, increment_;
  uint32_t kept_ = 0;
  bool has_kept_ = false;
};

}  // namespace flexor::recap
