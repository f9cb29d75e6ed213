#include "media/image_codec.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace flexor::media {
namespace {

Picture gradient(int width, int height) {
  Picture picture;
  picture.resize(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      uint8_t* p = &picture.rgb[static_cast<size_t>((y * width + x) * 3)];
      p[0] = static_cast<uint8_t>(255 * x / width);
      p[1] = static_cast<uint8_t>(255 * y / height);
      p[2] = static_cast<uint8_t>(128 + 100 * std::sin(0.1 * (x + y)));
    }
  }
  return picture;
}

TEST(ImageCodec, PngComesBackExactly) {
  for (const auto& [w, h] : {std::pair{64, 48}, {33, 7}, {1, 1}, {80, 64}}) {
    const Picture picture = gradient(w, h);
    Picture back;
    decode_image(encode_png(picture), "test", back);
    EXPECT_EQ(back.width, w);
    EXPECT_EQ(back.height, h);
    EXPECT_EQ(back.rgb, picture.rgb);
  }
}

TEST(ImageCodec, PicturesOfOneSizeDoNotMix) {
  const Picture first = gradient(64, 48);
  Picture second = first, back;
  std::reverse(second.rgb.begin(), second.rgb.end());
  const std::vector<uint8_t> bytes[] = {encode_png(first), encode_png(second)};
  for (const int which : {0, 1, 1, 0}) {
    decode_image(bytes[which], "test", back);
    EXPECT_EQ(back.rgb, which == 0 ? first.rgb : second.rgb);
  }
}

TEST(ImageCodec, JpegComesBackNearly) {
  const Picture picture = gradient(96, 64);
  Picture back;
  decode_image(encode_jpeg(picture, 95), "test", back);
  ASSERT_EQ(back.rgb.size(), picture.rgb.size());
  double sum = 0;
  for (size_t i = 0; i < back.rgb.size(); ++i) {
    sum += std::abs(static_cast<double>(back.rgb[i]) - picture.rgb[i]);
  }
  EXPECT_LT(sum / static_cast<double>(back.rgb.size()), 3.0);
}

TEST(ImageCodec, BytesDoNotDependOnWhatWasEncodedBefore) {
  const Picture first = gradient(64, 48), other = gradient(30, 20);
  Picture second = first;
  std::reverse(second.rgb.begin(), second.rgb.end());
  const std::vector<uint8_t> png = encode_png(first), jpeg = encode_jpeg(first, 80);
  for (const Picture& between : {second, other, first}) {
    encode_jpeg(between, 80);
    EXPECT_EQ(encode_jpeg(first, 80), jpeg);
    encode_png(between);
    EXPECT_EQ(encode_png(first), png);
  }
}

TEST(ImageCodec, FullColourKeepsSharpColours) {
  Picture picture = gradient(64, 64), full, halved;
  for (size_t i = 0; i < picture.rgb.size(); i += 6) {  // columns of red between the others
    picture.rgb[i] = 255;
    picture.rgb[i + 1] = picture.rgb[i + 2] = 0;
  }
  decode_image(encode_jpeg(picture, 95, /*full_colour=*/true), "test", full);
  decode_image(encode_jpeg(picture, 95), "test", halved);
  double error_full = 0, error_halved = 0;
  for (size_t i = 0; i < picture.rgb.size(); ++i) {
    error_full += std::abs(static_cast<double>(full.rgb[i]) - picture.rgb[i]);
    error_halved += std::abs(static_cast<double>(halved.rgb[i]) - picture.rgb[i]);
  }
  EXPECT_LT(error_full * 4, error_halved);
}

TEST(ImageCodec, CoarserJpegIsSmaller) {
  const Picture picture = gradient(96, 64);
  EXPECT_LT(encode_jpeg(picture, 20).size(), encode_jpeg(picture, 95).size());
}

TEST(ImageCodec, DamagedPicturesAreErrorsWithThePlace) {
  const std::vector<uint8_t> png = encode_png(gradient(64, 48));
  const std::vector<uint8_t> cut(png.begin(), png.begin() + static_cast<long>(png.size() / 2));
  std::vector<uint8_t> flipped = png;
  flipped[png.size() / 2] ^= 0x55U;
  const std::vector<uint8_t> text = {'h', 'e', 'l', 'l', 'o'};
  const std::vector<uint8_t> empty;
  for (const auto& bytes : {cut, flipped, text, empty}) {
    Picture out;
    try {
      decode_image(bytes, "data/x.parquet, row 7", out);
      FAIL() << "decoded " << bytes.size() << " bytes";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      EXPECT_EQ(error.where(), "data/x.parquet, row 7");
    }
  }
  Picture out;  // and the decoder still works
  decode_image(png, "test", out);
  EXPECT_EQ(out.rgb, gradient(64, 48).rgb);
}

}  // namespace
}  // namespace flexor::media
