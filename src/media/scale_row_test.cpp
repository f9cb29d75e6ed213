#include "media/scale_row.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace flexor::media {
namespace {

// Taps of random neighbours in ascending order, with weights that add up to 2^14.
RowTaps random_taps(int source_width, int n, std::mt19937& random) {
  RowTaps taps;
  taps.precision = 14;
  for (int i = 0; i < n; ++i) {
    taps.index.push_back(static_cast<int>(random() % static_cast<unsigned>(source_width)));
  }
  std::sort(taps.index.begin(), taps.index.end());
  for (const int index : taps.index) {
    const bool last = index + 1 == source_width;
    const auto weight = static_cast<int16_t>(last ? 1 << 14 : random() % ((1U << 14U) + 1));
    taps.next.push_back(last ? index : index + 1);
    taps.weight0.push_back(weight);
    taps.weight1.push_back(static_cast<int16_t>((1 << 14) - weight));
  }
  taps.widen();
  return taps;
}

TEST(ScaleRow, VectorCodeGivesTheIntegersOfTheFormula) {
  std::mt19937 random(3);
  for (const int width : {1, 2, 3, 4, 5, 31, 64, 641}) {
    for (const int n : {1, 3, 4, 7, 8, 50, 224}) {
      const RowTaps taps = random_taps(width, n, random);
      std::vector<uint8_t> source(static_cast<size_t>(width) * 3);  // exact size: reading beyond it is an error
      std::generate(source.begin(), source.end(), [&] { return static_cast<uint8_t>(random() & 255U); });
      const auto count = static_cast<size_t>(n);
      std::vector<uint8_t> planes[3] = {std::vector<uint8_t>(count), std::vector<uint8_t>(count),
                                        std::vector<uint8_t>(count)};
      scale_rgb_row(source.data(), width, taps, planes[0].data(), planes[1].data(), planes[2].data());
      for (size_t x = 0; x < count; ++x) {
        for (size_t c = 0; c < 3; ++c) {
          const int a = source[static_cast<size_t>(3 * taps.index[x]) + c];
          const int b = source[static_cast<size_t>(3 * taps.next[x]) + c];
          ASSERT_EQ(planes[c][x], (a * taps.weight0[x] + b * taps.weight1[x] + (1 << 13)) >> 14)
              << width << " to " << n << ", pixel " << x << ", channel " << c;
        }
      }
    }
  }
}

TEST(ScaleRow, BlendsAnyLength) {
  std::mt19937 random(4);
  for (const int n : {1, 31, 32, 33, 100, 224}) {
    std::vector<uint8_t> a(static_cast<size_t>(n)), b = a, out = a;
    std::generate(a.begin(), a.end(), [&] { return static_cast<uint8_t>(random() & 255U); });
    std::generate(b.begin(), b.end(), [&] { return static_cast<uint8_t>(random() & 255U); });
    blend_rows(a.data(), b.data(), 20000, 12768, 15, n, out.data());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(out[i], (a[i] * 20000 + b[i] * 12768 + (1 << 14)) >> 15);
    }
  }
}

}  // namespace
}  // namespace flexor::media
