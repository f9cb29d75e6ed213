#include "media/video_index.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "media/mp4_samples.h"
#include "media/video_writer.h"

namespace flexor::media {
namespace {

class VideoIndexTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "index_" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".mp4";
  }
  void TearDown() override { std::filesystem::remove(path_); }

  void write(int frames, int gop, int b_frames) {
    VideoWriter writer(path_, {.width = 64, .height = 48, .fps_num = 25, .gop = gop, .max_b_frames = b_frames});
    Picture picture;
    picture.resize(64, 48);
    for (int k = 0; k < frames; ++k) {
      std::fill(picture.rgb.begin(), picture.rgb.end(), static_cast<uint8_t>(k * 9));
      writer.write(picture);
    }
    writer.finish();
  }

  std::string path_;
};

TEST_F(VideoIndexTest, KnowsTimesAndKeyFramesWithoutDecoding) {
  write(20, 4, 0);
  const VideoIndex index = read_video_index(path_);
  ASSERT_EQ(index.pts.size(), 20u);
  for (size_t k = 0; k < 20; ++k) {
    EXPECT_NEAR(static_cast<double>(index.pts[k]) * index.info.time_base.value(), static_cast<double>(k) / 25, 1e-9);
    EXPECT_EQ(index.is_key[k], k % 4 == 0) << k;
  }
}

TEST_F(VideoIndexTest, ReorderedPicturesAreInPresentationOrder) {
  write(21, 10, 2);
  const VideoIndex index = read_video_index(path_);
  ASSERT_EQ(index.pts.size(), 21u);
  EXPECT_EQ(index.pts[0], 0);
  EXPECT_TRUE(std::is_sorted(index.pts.begin(), index.pts.end()));
  EXPECT_NEAR(static_cast<double>(index.pts[20]) * index.info.time_base.value(), 0.8, 1e-9);
}

TEST_F(VideoIndexTest, TheSampleTablesOfAnMp4AreUnderstood) {
  write(12, 3, 2);
  const auto samples = read_mp4_samples(path_);
  ASSERT_TRUE(samples);
  const VideoIndex index = read_video_index(path_);
  auto sorted = samples->pts;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, index.pts);
  EXPECT_EQ(samples->timescale, index.info.time_base.den);
}

TEST_F(VideoIndexTest, CountsTheBytesThatAreMissing) {
  write(8, 2, 0);
  EXPECT_EQ(mp4_missing_bytes(path_), 0u);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 17);
  EXPECT_EQ(mp4_missing_bytes(path_), 17u);
}

TEST_F(VideoIndexTest, DamagedTablesGiveNothingRatherThanNonsense) {
  write(8, 2, 0);
  const std::string whole = read_file(path_);
  for (const std::string box : {"stts", "stsz", "ctts"}) {
    const size_t place = whole.find(box);
    if (place == std::string::npos) {
      continue;
    }
    std::string damaged = whole;
    damaged.replace(place + 4, 16, 16, '\xFF');
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << damaged;
    EXPECT_FALSE(read_mp4_samples(path_)) << box;
  }
}

TEST_F(VideoIndexTest, WhatIsNoVideoIsAnError) {
  std::ofstream(path_) << "not a video at all";
  EXPECT_THROW(read_video_index(path_), Error);
  EXPECT_FALSE(read_mp4_samples(path_));
  EXPECT_EQ(mp4_missing_bytes(path_), 0u);
}

}  // namespace
}  // namespace flexor::media
