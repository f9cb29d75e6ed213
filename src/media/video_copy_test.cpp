#include "media/video_copy.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "media/video_reader.h"
#include "media/video_reencode.h"
#include "media/video_writer.h"

namespace flexor::media {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const std::string kDatasets = std::string(FLEXOR_TESTS_DIR) + "/data/datasets/";
const std::string kH264 = kDatasets + "v21_h264/videos/chunk-000/observation.images.top/episode_00000";
const std::string kAv1 = kDatasets + "v21_av1/videos/chunk-000/observation.images.top/episode_00000";

class VideoCopyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("flexor_copy_" + std::to_string(::getpid()) + "_" +
                                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// Frames [first, first + count) of `a` are those from `b_first` on of `b`.
  static void expect_same_pictures(const std::string& a, int64_t first, int64_t count, const std::string& b,
                                   int64_t b_first) {
    const auto one = VideoReader::open(a), other = VideoReader::open(b);
    Picture p, q;
    for (int64_t i = 0; i < count; ++i) {
      one->read_frame(first + i, p);
      other->read_frame(b_first + i, q);
      ASSERT_EQ(p.rgb, q.rgb) << a << " frame " << first + i;
    }
  }

  /// The packets of a file, one after the other.
  std::string packets(const std::string& name) const {
    const std::string bytes = read_file(path(name));
    return bytes.substr(bytes.find("mdat"));
  }

  /// A video whose key frames are 12 apart, with B-frames between.
  std::string long_gop(const std::string& name, int frames) {
    VideoWriter writer(path(name),
                       {.width = 64, .height = 64, .fps_num = 10, .codec = "libx264", .gop = 12, .max_b_frames = 2});
    Picture picture;
    picture.resize(64, 64);
    for (int i = 0; i < frames; ++i) {
      std::fill(picture.rgb.begin(), picture.rgb.end(), static_cast<uint8_t>(20 + 3 * i));
      writer.write(picture);
    }
    writer.finish();
    return path(name);
  }

  fs::path folder_;
};

TEST_F(VideoCopyTest, JoinsEpisodesWithTheirPicturesAtTheFramesThatFollowEachOther) {
  for (const std::string& prefix : {kH264, kAv1}) {
    VideoCopier copier;
    const CopyResult result =
        copier.copy({{prefix + "0.mp4"}, {prefix + "1.mp4"}, {prefix + "3.mp4"}}, path("joined.mp4"));
    ASSERT_FALSE(result.obstacle) << result.obstacle->what;
    EXPECT_THAT(result.num_frames, ElementsAre(32, 45, 25));
    EXPECT_EQ(VideoReader::open(path("joined.mp4"))->info().num_frames, 102);
    EXPECT_EQ(VideoReader::open(path("joined.mp4"))->info().start_pts, 0);
    expect_same_pictures(path("joined.mp4"), 0, 32, prefix + "0.mp4", 0);
    expect_same_pictures(path("joined.mp4"), 32, 45, prefix + "1.mp4", 0);
    expect_same_pictures(path("joined.mp4"), 77, 25, prefix + "3.mp4", 0);
  }
}

TEST_F(VideoCopyTest, CutsWhatItJoinedIntoTheFilesThatWereThere) {
  VideoCopier copier;
  copier.copy({{kH264 + "0.mp4"}, {kH264 + "1.mp4"}}, path("joined.mp4"));
  copier.copy({{kH264 + "0.mp4"}}, path("first_alone.mp4"));
  copier.copy({{kH264 + "1.mp4"}}, path("second_alone.mp4"));
  EXPECT_THAT(copier.copy({{path("joined.mp4"), 0, 32}}, path("first.mp4")).num_frames, ElementsAre(32));
  EXPECT_THAT(copier.copy({{path("joined.mp4"), 32, 45}}, path("second.mp4")).num_frames, ElementsAre(45));
  EXPECT_TRUE(packets("first.mp4") == packets("first_alone.mp4"));
  EXPECT_TRUE(packets("second.mp4") == packets("second_alone.mp4"));
}

TEST_F(VideoCopyTest, TheIndexStandsInFront) {
  VideoCopier copier;
  copier.copy({{kH264 + "0.mp4", 0, -1, 32}}, path("known.mp4"));
  copier.copy({{kH264 + "0.mp4"}}, path("unknown.mp4"));
  for (const auto* name : {"known.mp4", "unknown.mp4"}) {
    const std::string bytes = read_file(path(name));
    EXPECT_LT(bytes.find("moov"), bytes.find("mdat")) << name;
    expect_same_pictures(path(name), 0, 32, kH264 + "0.mp4", 0);
  }
}

TEST_F(VideoCopyTest, ACutWithoutAKeyFrameIsAnObstacleAndLeavesNoFile) {
  const std::string video = long_gop("long.mp4", 30);
  VideoCopier copier;
  const CopyResult result = copier.copy({{video, 5, 10}}, path("cut.mp4"));
  ASSERT_TRUE(result.obstacle);
  EXPECT_THAT(result.obstacle->what, HasSubstr("no key frame"));
  EXPECT_THAT(result.obstacle->where, HasSubstr("long.mp4, frame 5"));
  EXPECT_FALSE(fs::exists(path("cut.mp4")));
  const CopyResult mixed = copier.copy({{video, 0, 5}}, path("cut.mp4"));
  ASSERT_TRUE(mixed.obstacle);
  EXPECT_THAT(mixed.obstacle->what, HasSubstr("two episodes are mixed"));
  EXPECT_FALSE(copier.copy({{video, 12, 12}}, path("cut.mp4")).obstacle);  // goes on after obstacles
  expect_same_pictures(path("cut.mp4"), 0, 12, video, 12);
}

TEST_F(VideoCopyTest, StreamsThatDifferAreAnObstacleThatSaysInWhat) {
  VideoCopier copier;
  const CopyResult codec = copier.copy({{kH264 + "0.mp4"}, {kAv1 + "0.mp4"}}, path("x.mp4"));
  ASSERT_TRUE(codec.obstacle);
  EXPECT_THAT(codec.obstacle->what, HasSubstr("codec av1 instead of h264"));
  const std::string wrist = kDatasets + "v21_h264/videos/chunk-000/observation.images.wrist/episode_000000.mp4";
  const CopyResult size = copier.copy({{kH264 + "0.mp4"}, {wrist}}, path("x.mp4"));
  ASSERT_TRUE(size.obstacle);
  EXPECT_THAT(size.obstacle->what, HasSubstr("size 80x64 instead of 96x96"));
  EXPECT_FALSE(fs::exists(path("x.mp4")));
}

TEST_F(VideoCopyTest, FramesThatAreMissingAreAnError) {
  VideoCopier copier;
  try {
    copier.copy({{kH264 + "0.mp4", 30, 10}}, path("x.mp4"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("video has 2 frames from frame 30 on, expected 10"));
  }
  EXPECT_FALSE(fs::exists(path("x.mp4")));
}

TEST_F(VideoCopyTest, AFolderThatCannotBeWrittenIsAnError) {
  VideoCopier copier;
  EXPECT_THROW(copier.copy({{kH264 + "0.mp4"}}, "/proc/no/x.mp4"), Error);
}

TEST_F(VideoCopyTest, EncodingAgainGivesTheSameFramesAlmost) {
  const std::string video = long_gop("long.mp4", 30);
  const EncodeSettings settings{.codec = "h264", .pix_fmt = "yuv420p", .gop = 2, .crf = 10};
  EXPECT_THAT(reencode_parts({{video, 5, 10}, {video, 20, 3}}, path("cut.mp4"), settings), ElementsAre(10, 3));
  const auto cut = VideoReader::open(path("cut.mp4")), source = VideoReader::open(video);
  EXPECT_EQ(cut->info().num_frames, 13);
  Picture p, q;
  for (int64_t i = 0; i < 13; ++i) {
    cut->read_frame(i, p);
    source->read_frame(i < 10 ? 5 + i : 10 + i, q);
    ASSERT_NEAR(p.rgb[0], q.rgb[0], 2) << i;
  }
}

}  // namespace
}  // namespace flexor::media
