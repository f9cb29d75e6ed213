#include "media/scale_row.h"

#include <cstddef>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace flexor::media {
namespace {

#if defined(__AVX2__)
// Four output pixels at once; both neighbours of a pixel come with one load of 8 bytes. Same integers as the plain
// loop.
class FourPixels {
 public:
  explicit FourPixels(int precision)
      : half_(_mm256_set1_epi32(1 << (precision - 1))), shift_(_mm_cvtsi32_si128(precision)) {}

  void operator()(const uint8_t* source, const RowTaps& taps, size_t x, uint8_t* red, uint8_t* green,
                  uint8_t* blue) const {
    const __m256i first = two(source, taps, x), second = two(source, taps, x + 2);
    const __m256i words = _mm256_packs_epi32(first, second);  // pixels 0 2 | 1 3
    const __m256i bytes = _mm256_packus_epi16(words, words);
    const __m128i in_order = _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    const __m128i planes =
        _mm_shuffle_epi8(in_order, _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    store(_mm_extract_epi32(planes, 0), red + x);
    store(_mm_extract_epi32(planes, 1), green + x);
    store(_mm_extract_epi32(planes, 2), blue + x);
  }

 private:
  static void store(int four, uint8_t* to) { std::memcpy(to, &four, 4); }

  static __m128i load(const uint8_t* from) {
    int64_t eight = 0;
    std::memcpy(&eight, from, 8);
    return _mm_cvtsi64_si128(eight);
  }

  // Sums of two pixels as 32-bit integers: r g b 0 | r g b 0.
  __m256i two(const uint8_t* source, const RowTaps& taps, size_t x) const {
    const __m128i raw = _mm_unpacklo_epi64(load(source + ptrdiff_t{3} * taps.index[x]),
                                           load(source + ptrdiff_t{3} * taps.index[x + 1]));
    const __m128i pairs = _mm_shuffle_epi8(raw, _mm_setr_epi8(0, 3, 1, 4, 2, 5, -1, -1, 8, 11, 9, 12, 10, 13, -1, -1));
    const __m256i weights = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(taps.wide.data() + 8 * x));
    const __m256i sums = _mm256_madd_epi16(_mm256_cvtepu8_epi16(pairs), weights);
    return _mm256_srl_epi32(_mm256_add_epi32(sums, half_), shift_);
  }

  __m256i half_;
  __m128i shift_;
};

// Output pixels, from the first on, whose 8 bytes lie inside the row.
size_t num_vectorised(const RowTaps& taps, int source_width) {
  size_t n = taps.index.size();
  while (n > 0 && 3 * taps.index[n - 1] + 8 > 3 * source_width) {
    --n;
  }
  return n / 4 * 4;
}
#endif

}  // namespace

void RowTaps::widen() {
  wide.resize(index.size() * 8);
  for (size_t i = 0; i < wide.size(); ++i) {
    wide[i] = i % 2 == 0 ? weight0[i / 8] : weight1[i / 8];
  }
}

void scale_rgb_row(const uint8_t* source, int source_width, const RowTaps& taps, uint8_t* red, uint8_t* green,
                   uint8_t* blue) {
  size_t x = 0;
#if defined(__AVX2__)
  const FourPixels four(taps.precision);
  for (const size_t n = num_vectorised(taps, source_width); x < n; x += 4) {
    four(source, taps, x, red, green, blue);
  }
#else
  (void)source_width;
#endif
  const int half = 1 << (taps.precision - 1), shift = taps.precision;
  for (; x < taps.index.size(); ++x) {
    const uint8_t *a = source + ptrdiff_t{3} * taps.index[x], *b = source + ptrdiff_t{3} * taps.next[x];
    const int wa = taps.weight0[x], wb = taps.weight1[x];
    red[x] = static_cast<uint8_t>((a[0] * wa + b[0] * wb + half) >> shift);
    green[x] = static_cast<uint8_t>((a[1] * wa + b[1] * wb + half) >> shift);
    blue[x] = static_cast<uint8_t>((a[2] * wa + b[2] * wb + half) >> shift);
  }
}

void blend_rows(const uint8_t* a, const uint8_t* b, int weight_a, int weight_b, int precision, int n, uint8_t* out) {
  const int half = 1 << (precision - 1);
  constexpr int kBlock = 32;  // a fixed length is what the compiler makes vector code of
  int i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    uint8_t block[kBlock];
    for (int k = 0; k < kBlock; ++k) {
      block[k] = static_cast<uint8_t>((a[i + k] * weight_a + b[i + k] * weight_b + half) >> precision);
    }
    std::memcpy(out + i, block, kBlock);
  }
  for (; i < n; ++i) {
    out[i] = static_cast<uint8_t>((a[i] * weight_a + b[i] * weight_b + half) >> precision);
  }
}

}  // namespace flexor::media
