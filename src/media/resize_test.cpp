#include "media/resize.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace flexor::media {
namespace {

Picture noise(int width, int height, unsigned seed) {
  Picture picture;
  picture.resize(width, height);
  std::mt19937 random(seed);
  std::generate(picture.rgb.begin(), picture.rgb.end(), [&] { return static_cast<uint8_t>(random() & 255U); });
  return picture;
}

Picture flat(int width, int height, uint8_t value) {
  Picture picture;
  picture.resize(width, height);
  std::fill(picture.rgb.begin(), picture.rgb.end(), value);
  return picture;
}

TEST(ResizeWithPad, KeepsTheShapeAndCentresIt) {
  ResizeWithPad resize(640, 480, 224, 224);
  EXPECT_EQ(resize.scaled_width(), 224);
  EXPECT_EQ(resize.scaled_height(), 168);
  std::vector<uint8_t> out(3 * 224 * 224, 9);
  resize.to_uint8(flat(640, 480, 200), out);
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < 224; ++y) {
      const uint8_t expected = y >= 28 && y < 196 ? 200 : 0;
      for (int x = 0; x < 224; ++x) {
        ASSERT_EQ(out[static_cast<size_t>((c * 224 + y) * 224 + x)], expected) << c << " " << y << " " << x;
      }
    }
  }
}

TEST(ResizeWithPad, OddGapsPutTheSmallerHalfFirst) {
  ResizeWithPad resize(20, 48, 28, 28);  // scaled to 11 x 28: 17 columns left over
  std::vector<uint8_t> out(3 * 28 * 28);
  resize.to_uint8(flat(20, 48, 50), out);
  EXPECT_EQ(out[7], 0);
  EXPECT_EQ(out[8], 50);
  EXPECT_EQ(out[18], 50);
  EXPECT_EQ(out[19], 0);
}

TEST(ResizeWithPad, TheSameSizeIsACopy) {
  const Picture picture = noise(31, 17, 1);
  ResizeWithPad resize(31, 17, 31, 17);
  std::vector<uint8_t> bytes(3 * 31 * 17);
  std::vector<float> values(3 * 31 * 17);
  resize.to_uint8(picture, bytes);
  resize.to_float(picture, values);
  for (size_t i = 0; i < 31 * 17; ++i) {
    for (size_t c = 0; c < 3; ++c) {
      ASSERT_EQ(bytes[c * 31 * 17 + i], picture.rgb[3 * i + c]);
      ASSERT_EQ(values[c * 31 * 17 + i], static_cast<float>(picture.rgb[3 * i + c]) / 255.0F);
    }
  }
}

TEST(ResizeWithPad, BothFormsAgreeWithinTheRoundingOfTwoPasses) {
  for (const auto& [w, h] : {std::pair{640, 480}, {80, 64}, {97, 61}, {5, 300}, {1, 1}, {224, 100}}) {
    const Picture picture = noise(w, h, 7);
    ResizeWithPad resize(w, h, 56, 56);
    std::vector<uint8_t> bytes(3 * 56 * 56);
    std::vector<float> values(3 * 56 * 56);
    resize.to_uint8(picture, bytes);
    resize.to_float(picture, values);
    for (size_t i = 0; i < bytes.size(); ++i) {
      ASSERT_NEAR(static_cast<float>(bytes[i]), values[i] * 255.0F, 1.02F) << w << "x" << h << " at " << i;
    }
  }
}

TEST(ResizeWithPad, MatchesABilinearByTheFormula) {
  const int w = 50, h = 37;
  const Picture picture = noise(w, h, 3);
  ResizeWithPad resize(w, h, 24, 24);
  std::vector<float> values(3 * 24 * 24);
  resize.to_float(picture, values);
  const int nw = resize.scaled_width(), nh = resize.scaled_height(), top = (24 - nh) / 2;
  ASSERT_EQ(nw, 24);
  ASSERT_EQ(nh, 17);
  for (int y = 0; y < nh; ++y) {
    for (int x = 0; x < nw; ++x) {
      const double sx = std::max(0.0, (x + 0.5) * w / nw - 0.5), sy = std::max(0.0, (y + 0.5) * h / nh - 0.5);
      const int x0 = static_cast<int>(sx), y0 = static_cast<int>(sy);
      const int x1 = std::min(x0 + 1, w - 1), y1 = std::min(y0 + 1, h - 1);
      const auto at = [&](int yy, int xx) { return picture.rgb[static_cast<size_t>((yy * w + xx) * 3 + 1)] / 255.0; };
      const double fx = sx - x0, fy = sy - y0;
      const double expected =
          (1 - fy) * ((1 - fx) * at(y0, x0) + fx * at(y0, x1)) + fy * ((1 - fx) * at(y1, x0) + fx * at(y1, x1));
      ASSERT_NEAR(values[static_cast<size_t>((24 + top + y) * 24 + x)], expected, 1e-5);
    }
  }
}

TEST(ResizeWithPad, OneObjectServesManyPictures) {
  ResizeWithPad used(64, 48, 32, 32);
  std::vector<uint8_t> first(3 * 32 * 32), again(3 * 32 * 32), fresh(3 * 32 * 32);
  used.to_uint8(noise(64, 48, 1), first);
  used.to_uint8(noise(64, 48, 2), again);
  ResizeWithPad(64, 48, 32, 32).to_uint8(noise(64, 48, 2), fresh);
  EXPECT_EQ(again, fresh);
  EXPECT_NE(again, first);
}

}  // namespace
}  // namespace flexor::media
