#include "media/video_reader.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "media/video_cache.h"
#include "media/video_writer.h"

namespace flexor::media {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

const std::string kFixtures = std::string(FLEXOR_TESTS_DIR) + "/data/datasets/";
const std::string kH264Video = kFixtures + "v21_h264/videos/chunk-000/observation.images.top/episode_000000.mp4";

class VideoReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("flexor_video_" + std::to_string(::getpid()) + "_" +
                                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

// A picture whose mean level tells its number: 64 grey steps, and a block that counts the wraps.
Picture numbered(int number) {
  Picture picture;
  picture.resize(64, 64);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 64; ++x) {
      const int level = y < 32 ? 20 + 14 * (number % 16) : 20 + 14 * (number / 16 % 16);
      std::fill_n(&picture.rgb[static_cast<size_t>((y * 64 + x) * 3)], 3, static_cast<uint8_t>(level));
    }
  }
  return picture;
}

int number_of(const Picture& picture) {
  const auto level = [&](int y) {
    double sum = 0;
    for (int x = 16; x < 48; ++x) {
      sum += picture.rgb[static_cast<size_t>((y * picture.width + x) * 3 + 1)];
    }
    return static_cast<int>(std::lround((sum / 32 - 20) / 14));
  };
  return level(12) + 16 * level(52);
}

std::string write_numbered(const std::string& path, int count, int gop, int b_frames, const std::string& codec = "auto",
                           int64_t fps_num = 30, int64_t fps_den = 1) {
  VideoWriter writer(path, {.width = 64,
                            .height = 64,
                            .fps_num = fps_num,
                            .fps_den = fps_den,
                            .codec = codec,
                            .gop = gop,
                            .crf = 18,
                            .max_b_frames = b_frames});
  for (int i = 0; i < count; ++i) {
    writer.write(numbered(i));
  }
  writer.finish();
  return path;
}

void expect_error(const std::function<void()>& body, ErrorKind kind, const std::string& what,
                  const std::string& where) {
  try {
    body();
    FAIL() << "no error; expected \"" << what << "\"";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(what));
    EXPECT_THAT(error.where(), HasSubstr(where));
  }
}

TEST_F(VideoReaderTest, TellsTheFactsOfTheStream) {
  const VideoInfo info = probe_video(kH264Video);
  EXPECT_EQ(info.codec, "h264");
  EXPECT_EQ(info.pix_fmt, "yuv420p");
  EXPECT_EQ(info.width, 96);
  EXPECT_EQ(info.height, 96);
  EXPECT_EQ(info.fps, (Rational{10, 1}));
  EXPECT_EQ(info.time_base, (Rational{1, 10240}));
  EXPECT_EQ(info.num_frames, 32);
  EXPECT_EQ(info.start_pts, 0);
  EXPECT_DOUBLE_EQ(info.duration_s, 3.2);
}

TEST_F(VideoReaderTest, HeadersOfAllFixturesAgreeWithTheReference) {
  const Json golden = Json::read_file(kFixtures + "golden/video_frames_yuv_hash.json");
  int seen = 0;
  for (const auto& [name, facts] : golden.as_object()) {
    if (!fs::exists(kFixtures + name)) {
      continue;  // a dataset that is not in the project
    }
    const auto reader = VideoReader::open(kFixtures + name);
    EXPECT_EQ(reader->info().num_frames, facts.at("nb_frames").as_int()) << name;
    const std::string codec = facts.at("codec").as_string();
    EXPECT_EQ(reader->info().codec, codec == "libdav1d" ? "av1" : codec) << name;
    EXPECT_EQ("1/" + std::to_string(reader->info().time_base.den), facts.at("time_base").as_string()) << name;
    ++seen;
  }
  EXPECT_GE(seen, 12);
}

TEST_F(VideoReaderTest, RandomReadsEqualSequentialReadsWhateverTheGop) {
  struct Case {
    const char* codec;
    int gop, b_frames;
  };
  for (const Case& c : {Case{"auto", 2, -1}, Case{"auto", 1, 0}, Case{"auto", 250, 3}, Case{"auto", 12, 2},
                        Case{"mpeg4", 10, 2}, Case{"mpeg4", 2, 0}}) {
    SCOPED_TRACE(::testing::Message() << c.codec << " gop " << c.gop << " b " << c.b_frames);
    const auto reader = VideoReader::open(write_numbered(path("v.mp4"), 60, c.gop, c.b_frames, c.codec));
    ASSERT_EQ(reader->info().num_frames, 60);
    std::vector<Picture> sequential(60);
    for (int i = 0; i < 60; ++i) {
      reader->read_frame(i, sequential[static_cast<size_t>(i)]);
      ASSERT_EQ(number_of(sequential[static_cast<size_t>(i)]), i);
    }
    std::mt19937 random(5);
    Picture picture;
    for (int k = 0; k < 120; ++k) {
      const int i = static_cast<int>(random() % 60);
      reader->read_frame(i, picture);
      ASSERT_EQ(picture.rgb, sequential[static_cast<size_t>(i)].rgb) << "frame " << i << " in read " << k;
    }
    for (int i = 59; i >= 0; --i) {
      reader->read_frame(i, picture);
      ASSERT_EQ(picture.rgb, sequential[static_cast<size_t>(i)].rgb) << "backwards, frame " << i;
    }
  }
}

TEST_F(VideoReaderTest, OpenGopsLoseNoPicture) {
  std::string file;
  try {
    file = write_numbered(path("open.mp4"), 60, 8, 3, "libx265");
  } catch (const Error&) {
    GTEST_SKIP() << "this FFmpeg has no libx265";
  }
  const auto reader = VideoReader::open(file);
  std::mt19937 random(5);
  Picture picture;
  for (int k = 0; k < 150; ++k) {
    const int i = k < 60 ? (k * 37) % 60 : static_cast<int>(random() % 60);
    reader->read_frame(i, picture);
    ASSERT_EQ(number_of(picture), i) << "read " << k;
  }
}

TEST_F(VideoReaderTest, ShortGopsCostAFewDecodedPictures) {
  const auto reader = VideoReader::open(write_numbered(path("v.mp4"), 100, 2, -1));
  std::mt19937 random(1);
  Picture picture;
  for (int k = 0; k < 200; ++k) {
    reader->read_frame(static_cast<int>(random() % 100), picture);
  }
  EXPECT_LE(reader->num_decoded(), 200 * 16 / 10);
}

TEST_F(VideoReaderTest, PicturesThatNothingRefersToAreSkippedOnTheWay) {
  const auto reader = VideoReader::open(write_numbered(path("v.mp4"), 100, 250, 3));
  Picture picture;
  reader->read_frame(90, picture);
  EXPECT_EQ(number_of(picture), 90);
  EXPECT_LT(reader->num_decoded(), 80);
  reader->read_frame(91, picture);  // and going on from there misses nothing
  EXPECT_EQ(number_of(picture), 91);
}

TEST_F(VideoReaderTest, GoingForwardInALongGopDecodesEachPictureOnce) {
  const auto reader = VideoReader::open(write_numbered(path("v.mp4"), 100, 250, 0));
  Picture picture;
  for (int i = 20; i < 100; i += 7) {
    reader->read_frame(i, picture);
    ASSERT_EQ(number_of(picture), i);
  }
  EXPECT_LE(reader->num_decoded(), 100);
}

TEST_F(VideoReaderTest, ReadsByTimeWithTheNearestNumberAndATolerance) {
  const auto reader = VideoReader::open(write_numbered(path("v.mp4"), 40, 2, -1, "auto", 30000, 1001));
  Picture picture;
  for (const int i : {0, 1, 17, 39}) {
    reader->read_at(static_cast<float>(i * 1001.0 / 30000.0), 1e-4, picture);  // as a table stores it: float32
    EXPECT_EQ(number_of(picture), i);
  }
  expect_error([&] { reader->read_at(0.015, 1e-4, picture); }, ErrorKind::kData, "query time 0.015 s", "v.mp4");
  expect_error([&] { reader->read_at(10.0, 1e-4, picture); }, ErrorKind::kData, "of a video with 40 frames", "v.mp4");
  expect_error([&] { reader->read_at(-0.1, 1e-4, picture); }, ErrorKind::kData, "frame -3", "v.mp4");
  expect_error([&] { reader->read_at(std::nan(""), 1e-4, picture); }, ErrorKind::kData, "not a number", "v.mp4");
  reader->read_at(0.0, 1e-4, picture);  // an error leaves the reader usable
  EXPECT_EQ(number_of(picture), 0);
}

TEST_F(VideoReaderTest, OddWidthsAreConvertedToTheLastColumn) {
  VideoWriter writer(path("odd.mp4"), {.width = 70, .height = 50, .crf = 10});
  Picture white;
  white.resize(70, 50);
  std::fill(white.rgb.begin(), white.rgb.end(), uint8_t{255});
  writer.write(white);
  writer.finish();
  Picture picture;
  VideoReader::open(path("odd.mp4"))->read_frame(0, picture);
  ASSERT_EQ(picture.rgb.size(), white.rgb.size());
  EXPECT_GE(*std::min_element(picture.rgb.begin(), picture.rgb.end()), 250);
}

TEST_F(VideoReaderTest, MissingAndForeignFilesAreNamed) {
  expect_error([&] { VideoReader::open(path("none.mp4")); }, ErrorKind::kFile, "", "none.mp4");
  std::ofstream(path("lfs.mp4")) << "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
  expect_error([&] { VideoReader::open(path("lfs.mp4")); }, ErrorKind::kFile, "LFS", "lfs.mp4");
  std::ofstream(path("text.mp4")) << std::string(5000, 'x');
  expect_error([&] { VideoReader::open(path("text.mp4")); }, ErrorKind::kData, "not a video", "text.mp4");
  std::ofstream(path("empty.mp4")).flush();
  expect_error([&] { VideoReader::open(path("empty.mp4")); }, ErrorKind::kData, "not a video", "empty.mp4");
}

TEST_F(VideoReaderTest, TruncatedFilesAreErrorsWhenOpened) {
  const std::string file = read_file(write_numbered(path("v.mp4"), 60, 2, -1));
  write_file_atomic(path("cut.mp4"), file.substr(0, file.size() * 2 / 3));  // the index stands in front
  expect_error([&] { VideoReader::open(path("cut.mp4")); }, ErrorKind::kData, "truncated video", "cut.mp4");
  const std::string behind = read_file(kH264Video);  // the index stands behind the pictures
  write_file_atomic(path("no_index.mp4"), behind.substr(0, behind.size() / 2));
  expect_error([&] { VideoReader::open(path("no_index.mp4")); }, ErrorKind::kData, "", "no_index.mp4");
}

TEST_F(VideoReaderTest, DamagedPicturesNameTheFrame) {
  std::string file = read_file(write_numbered(path("v.mp4"), 60, 1, 0));
  for (size_t i = file.size() / 2; i < file.size(); ++i) {
    file[i] = static_cast<char>(i * 2654435761U >> 13U);
  }
  write_file_atomic(path("bad.mp4"), file);
  const auto reader = VideoReader::open(path("bad.mp4"));
  Picture picture;
  expect_error([&] { reader->read_frame(59, picture); }, ErrorKind::kData, "picture", "frame 59");
  reader->read_frame(0, picture);
  EXPECT_EQ(number_of(picture), 0);
}

TEST_F(VideoReaderTest, TheCacheBoundsOpenFilesAndSharesDecoders) {
  std::vector<std::string> files;
  for (int k = 0; k < 5; ++k) {
    files.push_back(write_numbered(path("f" + std::to_string(k) + ".mp4"), 20 + k, 2, -1));
  }
  VideoCache cache(3);
  Picture picture;
  std::mt19937 random(2);
  for (int k = 0; k < 100; ++k) {
    const size_t f = random() % 5;
    const int i = static_cast<int>(random() % (20 + f));
    cache.reader(files[f]).read_frame(i, picture);
    ASSERT_EQ(number_of(picture), i);
    ASSERT_LE(cache.size(), 3U);
  }
  EXPECT_GE(cache.num_decoded(), 100);
  expect_error([&] { cache.reader(path("none.mp4")); }, ErrorKind::kFile, "", "none.mp4");
  cache.reader(files[0]).read_frame(3, picture);
  EXPECT_EQ(number_of(picture), 3);
}

TEST_F(VideoReaderTest, AWriterThatIsNotFinishedLeavesNoFile) {
  {
    VideoWriter writer(path("half.mp4"), {.width = 64, .height = 64});
    writer.write(numbered(0));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
  expect_error([&] { VideoWriter(path("x.mp4"), {.width = 64, .height = 64, .codec = "no_such"}); },
               ErrorKind::kRuntime, "no encoder", "x.mp4");
  expect_error([&] { VideoWriter("/nonexistent/x.mp4", {.width = 64, .height = 64}); }, ErrorKind::kFile,
               "cannot write", "x.mp4");
}

}  // namespace
}  // namespace flexor::media
