#include "curate/picture_histogram.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "curate/episode_stats.h"
#include "data/dimension_stats.h"
#include "testing/golden.h"

namespace flexor::curate {
namespace {

media::Picture random_picture(int width, int height, unsigned seed) {
  std::mt19937 random(seed);
  media::Picture picture;
  picture.resize(width, height);
  for (uint8_t& value : picture.rgb) {
    value = static_cast<uint8_t>(random() % 256);
  }
  return picture;
}

TEST(PictureHistogram, StatisticsAreThoseOfThePixels) {
  PictureHistogram histogram;
  std::vector<std::vector<double>> pixels(3);
  for (unsigned seed = 0; seed < 3; ++seed) {
    const media::Picture picture = random_picture(13, 7, seed);
    histogram.add(picture);
    for (size_t i = 0; i < picture.rgb.size(); ++i) {
      pixels[i % 3].push_back(picture.rgb[i] / 255.0);
    }
  }
  const schema::FeatureStats stats = histogram.stats();
  EXPECT_EQ(stats.shape, (std::vector<int64_t>{3, 1, 1}));
  EXPECT_EQ(stats.at("count")[0], 3);
  for (size_t c = 0; c < 3; ++c) {
    const data::DimensionStats expected = data::dimension_stats(pixels[c]);
    EXPECT_NEAR(stats.at("mean")[c], expected.mean, 1e-12);
    EXPECT_NEAR(stats.at("std")[c], expected.std, 1e-12);
    EXPECT_EQ(stats.at("min")[c], expected.min);
    EXPECT_EQ(stats.at("max")[c], expected.max);
    for (size_t i = 0; i < data::kQuantiles.size(); ++i) {
      EXPECT_NEAR(stats.at(data::kQuantiles[i].first)[c], expected.quantiles[i], 1e-12);
    }
  }
}

TEST(PictureHistogram, OrderOfThePicturesDoesNotMatter) {
  PictureHistogram one, other, part;
  for (const unsigned seed : {1, 2, 3}) {
    one.add(random_picture(32, 16, seed));
  }
  part.add(random_picture(32, 16, 3));
  part.add(random_picture(32, 16, 1));
  other.add(random_picture(32, 16, 2));
  other.add(part);
  EXPECT_EQ(one.stats().values, other.stats().values);
}

TEST(PictureHistogram, BillionsOfPixelsDoNotOverflow) {  // float32 sums are 9 % off after 30 million
  PictureHistogram histogram;
  media::Picture picture = random_picture(64, 64, 5);
  for (size_t i = 0; i < picture.rgb.size(); ++i) {
    picture.rgb[i] = i % 2 == 0 ? 255 : 0;
  }
  histogram.add(picture);
  for (int i = 0; i < 24; ++i) {  // 2^24 copies
    histogram.add(PictureHistogram(histogram));
  }
  EXPECT_EQ(histogram.num_pixels(), uint64_t{4096} << 24);
  EXPECT_NEAR(histogram.stats().at("std")[0], 0.5, 1e-12);
  EXPECT_NEAR(histogram.stats().at("mean")[0], 0.5, 1e-12);
}

TEST(PictureHistogram, NoPicturesAreRefused) {
  EXPECT_THROW(PictureHistogram().stats(), Error);
}

TEST(PictureSampling, FramesAreLeRobots) {
  const Json golden = Json::read_file(testing::tests_path("golden/statistics/image_sampling.json"));
  for (const auto& [length, frames] : golden.at("sample_indices").as_object()) {
    std::vector<int64_t> expected;
    for (const Json& frame : frames.as_array()) {
      expected.push_back(frame.as_int());
    }
    EXPECT_EQ(sampled_frames(std::stoll(length)), expected) << length;
  }
  for (const auto& [length, count] : golden.at("len_at").as_object()) {
    EXPECT_EQ(static_cast<int64_t>(sampled_frames(std::stoll(length)).size()), count.as_int()) << length;
  }
  EXPECT_TRUE(sampled_frames(0).empty());
}

TEST(PictureSampling, StrideIsLeRobots) {
  const Json golden = Json::read_file(testing::tests_path("golden/statistics/image_sampling.json"));
  for (const auto& [size, shape] : golden.at("downsample").as_object()) {
    const size_t cross = size.find('x');
    const int height = std::stoi(size.substr(0, cross)), width = std::stoi(size.substr(cross + 1));
    const int stride = picture_stride(width, height);
    EXPECT_EQ((height + stride - 1) / stride, shape.as_array()[1].as_int()) << size;
    EXPECT_EQ((width + stride - 1) / stride, shape.as_array()[2].as_int()) << size;
    PictureHistogram histogram;
    histogram.add(random_picture(width, height, 1), stride);
    EXPECT_EQ(static_cast<int64_t>(histogram.num_pixels()),
              shape.as_array()[1].as_int() * shape.as_array()[2].as_int());
  }
}

}  // namespace
}  // namespace flexor::curate
