#include "data/frame_cache.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "data/batch_reader.h"
#include "data/frame_cache_build.h"
#include "data/frame_cache_find.h"
#include "data/frame_cache_key.h"
#include "data/loader.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::data {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr int64_t kHeight = 40, kWidth = 56;

Dataset open_root(const fs::path& root) {
  DatasetOptions options;
  options.root = root.string();
  return Dataset::open(options);
}

std::string fixture(const std::string& name) {
  return testing::tests_path("data/datasets/" + name);
}

FrameCacheOptions options(const fs::path& path, bool is_jpeg = false) {
  return {.path = path.string(), .height = kHeight, .width = kWidth, .is_jpeg = is_jpeg, .num_threads = 2};
}

FrameCacheRequest request(const fs::path& where) {
  return {where.string(), kHeight, kWidth};
}

class FrameCacheTest : public ::testing::Test {
 protected:
  FrameCacheTest() {
    std::string name = (fs::temp_directory_path() / "flexor_frame_cache_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    set_log_level(LogLevel::kOff);
  }
  ~FrameCacheTest() override {
    set_log_level(LogLevel::kInfo);
    fs::remove_all(folder_);
  }

  /// A copy that may be changed.
  fs::path copy_of(const std::string& name) const {
    const fs::path root = folder_ / name;
    fs::copy(fixture(name), root, fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      fs::permissions(entry, fs::perms::owner_all, fs::perm_options::add);
    }
    return root;
  }
  std::vector<std::string> names(const fs::path& folder) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder)) {
      found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  static void write(const fs::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }
  static std::string reason(const fs::path& cache, const Dataset& dataset) {
    return why_stale(*FrameCache::open(cache.string()), dataset).value_or("");
  }
  template <typename F>
  static Error error_of(F&& action) {
    try {
      action();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error";
    return Error(ErrorKind::kRuntime, "");
  }

  fs::path folder_;
};

/// One epoch of batches.
std::vector<RawBatch> epoch_of(const Dataset& dataset, const std::string& cache, ImageTransforms transforms) {
  LoaderConfig config;
  config.format.height = kHeight;
  config.format.width = kWidth;
  config.format.action_horizon = 2;
  config.format.image_transforms = transforms;
  config.format.frame_cache = cache;
  config.sampler.batch_size = 16;
  Loader loader(std::make_shared<const Mixture>(dataset), config);
  std::vector<RawBatch> batches;
  for (int64_t frame = 0; frame < dataset.num_frames(); frame += config.sampler.batch_size) {
    batches.push_back(loader.next());
  }
  return batches;
}

void expect_same_pictures(const std::vector<RawBatch>& a, const std::vector<RawBatch>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t k = 0; k < a.size(); ++k) {
    EXPECT_EQ(a[k].frames, b[k].frames);
    ASSERT_EQ(a[k].cameras.size(), b[k].cameras.size());
    for (size_t i = 0; i < a[k].cameras.size(); ++i) {
      EXPECT_TRUE(at::equal(a[k].cameras[i].pixels, b[k].cameras[i].pixels)) << k << " " << a[k].cameras[i].name;
    }
  }
}

class EveryDataset : public FrameCacheTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(EveryDataset, RawPicturesAreTheLoadersBitForBit) {
  const Dataset dataset = open_root(fixture(GetParam()));
  const fs::path path = folder_ / "cache.frames";
  const FrameCacheSummary summary = make_frame_cache(dataset, options(path));
  EXPECT_EQ(summary.pictures, 2 * dataset.num_frames());
  EXPECT_EQ(static_cast<uintmax_t>(summary.bytes), fs::file_size(path));
  expect_same_pictures(epoch_of(dataset, path.string(), ImageTransforms::kNone),
                       epoch_of(dataset, "off", ImageTransforms::kNone));
}

TEST_P(EveryDataset, SelectedAndRenamedOnesReadTheSameCache) {
  const fs::path path = folder_ / "cache.frames";
  make_frame_cache(open_root(fixture(GetParam())), options(path));
  DatasetOptions some;
  some.root = fixture(GetParam());
  some.episodes = std::vector<int64_t>{1, 4};
  some.rename_map = {{"observation.images.wrist", "observation.images.hand_wrist"}};
  const Dataset dataset = Dataset::open(some).select({4});
  expect_same_pictures(epoch_of(dataset, folder_.string(), ImageTransforms::kOpenpi),
                       epoch_of(dataset, "off", ImageTransforms::kOpenpi));
}

INSTANTIATE_TEST_SUITE_P(FrameCache, EveryDataset,
                         ::testing::Values("v21_h264", "v21_av1", "v30_av1", "v30_images", "v30_small", "v30_from_v21"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(FrameCacheTest, IsFoundBesideTheDataAndNothingIsDecoded) {
  const fs::path root = copy_of("v21_h264");
  make_frame_cache(open_root(root), options(root / "frame_cache" / "jpeg.frames", /*is_jpeg=*/true));
  make_frame_cache(open_root(root), options(root / "frame_cache" / "raw.frames"));
  const Dataset dataset = open_root(root);
  BatchFormat format{.height = kHeight, .width = kWidth};
  const std::vector<int64_t> positions = {0, 100, 250};
  BatchReader with(std::make_shared<const Mixture>(dataset), format);
  format.frame_cache = "off";
  BatchReader without(std::make_shared<const Mixture>(dataset), format);
  const RawBatch a = with.read(positions), b = without.read(positions);
  EXPECT_EQ(with.num_decoded(), 0);
  EXPECT_GT(without.num_decoded(), 0);
  EXPECT_TRUE(at::equal(a.cameras[1].pixels, b.cameras[1].pixels));  // raw comes before JPEG
  EXPECT_FALSE(dataset.frame_cache(request("auto"))->header().is_jpeg);
  EXPECT_EQ(dataset.frame_cache(request("auto")), dataset.select({0}).frame_cache(request("auto")));
  EXPECT_EQ(dataset.frame_cache({"auto", 224, 224}), nullptr);
}

TEST_F(FrameCacheTest, IsLeftAloneWherePicturesOfAnotherKindAreWanted) {
  const fs::path root = copy_of("v21_h264");
  make_frame_cache(open_root(root), options(root / "frame_cache" / "a.frames"));
  const auto mixture = std::make_shared<const Mixture>(open_root(root));
  BatchFormat floats{.float_pictures = true, .height = kHeight, .width = kWidth};
  BatchFormat recorded{.height = 0, .width = 0};
  BatchFormat augmented{.height = kHeight, .width = kWidth, .image_transforms = ImageTransforms::kLerobot};
  for (BatchFormat* format : {&floats, &recorded, &augmented}) {
    format->cameras = {"observation.images.top"};
    BatchReader reader(mixture, *format);
    reader.read(std::vector<int64_t>{5});
    EXPECT_GT(reader.num_decoded(), 0);
    format->frame_cache = (root / "frame_cache").string();
    EXPECT_EQ(error_of([&] { BatchReader(mixture, *format); }).kind(), ErrorKind::kConfig);
  }
}

TEST_F(FrameCacheTest, SurvivesCopiesLinksAndNewTimes) {
  const fs::path root = copy_of("v21_h264");
  const fs::path path = root / "frame_cache" / "a.frames";
  make_frame_cache(open_root(root), options(path));
  const fs::path copy = folder_ / "another place", link = folder_ / "link";
  fs::copy(root, copy, fs::copy_options::recursive);
  const fs::path video = copy / "videos/chunk-000/observation.images.top/episode_000002.mp4";
  fs::last_write_time(video, fs::file_time_type::clock::now() - std::chrono::hours(5));
  const fs::path copied_cache = copy / "frame_cache" / "a.frames";
  EXPECT_EQ(reason(copied_cache, open_root(copy)), "");
  const std::string once = read_file(copied_cache.string());
  EXPECT_TRUE(once != read_file(path.string()));  // the times of the copies were noted,
  EXPECT_EQ(reason(copied_cache, open_root(copy)), "");
  EXPECT_TRUE(once == read_file(copied_cache.string()));  // so that they are not read again
  fs::create_directory_symlink(copy, link);
  EXPECT_EQ(reason(path, open_root(link)), "");
  fs::rename(video, folder_ / "blob");
  fs::create_symlink(folder_ / "blob", video);
  EXPECT_EQ(reason(path, open_root(copy)), "");
}

TEST_F(FrameCacheTest, ReadOnlyOnesStillServeCopies) {
  const fs::path root = copy_of("v21_h264"), path = folder_ / "a.frames";
  make_frame_cache(open_root(root), options(path));
  fs::last_write_time(root / "videos/chunk-000/observation.images.top/episode_000002.mp4",
                      fs::file_time_type::clock::now());
  fs::permissions(path, fs::perms::owner_read);
  EXPECT_EQ(reason(path, open_root(root)), "");
}

/// Changes the byte in the middle of a file, whose size stays.
void change_byte(const fs::path& file) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  const auto middle = static_cast<std::streamoff>(fs::file_size(file) / 2);
  stream.seekg(middle);
  const auto byte = static_cast<char>(stream.get() ^ 1);
  stream.seekp(middle);
  stream.put(byte);
  stream.close();
  fs::last_write_time(file, fs::file_time_type::clock::now() + std::chrono::seconds(1));
}

TEST_F(FrameCacheTest, OneOtherByteMakesItStale) {
  const fs::path root = copy_of("v21_h264"), path = folder_ / "a.frames";
  const Dataset dataset = open_root(root);
  make_frame_cache(dataset, options(path));
  change_byte(root / "videos/chunk-000/observation.images.top/episode_000002.mp4");
  EXPECT_THAT(reason(path, dataset), HasSubstr("top/episode_000002.mp4 has another content"));
  EXPECT_EQ(reason(path, open_root(root).select({1})), "");  // whose videos are unchanged
  const Error error = error_of([&] { (void)open_root(root).frame_cache(request(path)); });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  EXPECT_EQ(error.where(), path.string());
  EXPECT_THAT(error.hint(), HasSubstr("flexor dataset cache " + root.string() + " --size 40x56 --out "));
  fs::create_directories(root / "frame_cache");
  fs::copy(path, root / "frame_cache/a.frames");
  EXPECT_EQ(open_root(root).frame_cache(request("auto")), nullptr);  // with a warning
}

TEST_F(FrameCacheTest, ChangedTablesAndMetadataMakeItStale) {
  const fs::path root = copy_of("v30_small"), path = folder_ / "a.frames";
  make_frame_cache(open_root(root), options(path));
  fs::resize_file(root / "videos/observation.images.top/chunk-000/file-000.mp4", 1000);
  EXPECT_THAT(reason(path, open_root(root)), HasSubstr("has 1000 bytes, had "));
  fs::remove(root / "videos/observation.images.top/chunk-000/file-000.mp4");
  EXPECT_THAT(error_of([&] { reason(path, open_root(root)); }).what(), HasSubstr("no video of camera"));
  make_frame_cache(open_root(fixture("v21_h264")).select({0, 1, 2}), options(path));
  EXPECT_EQ(reason(path, open_root(fixture("v21_h264"))), "episode 3 is not in it");
  make_frame_cache(open_root(fixture("v30_images")), options(path));
  EXPECT_THAT(reason(path, open_root(fixture("v21_h264"))), HasSubstr("episode 0 comes from videos/"));
  DatasetOptions dropped;
  dropped.root = fixture("v30_images");
  EXPECT_EQ(reason(path, Dataset::open(dropped)), "");
}

TEST_F(FrameCacheTest, FramesAtOtherTimesMakeItStale) {
  const Dataset dataset = open_root(fixture("v30_from_v21"));
  const FrameCacheHeader header = describe_frames(dataset);
  ASSERT_EQ(header.episodes.size(), 6U);
  for (size_t i = 1; i < header.episodes.size(); ++i) {  // the same file, but elsewhere in it
    EXPECT_EQ(header.episodes[i].sources, header.episodes[0].sources);
    EXPECT_NE(header.episodes[i].frames_hash, header.episodes[0].frames_hash);
  }
  EXPECT_EQ(header.num_frames, dataset.num_frames());
}

TEST_F(FrameCacheTest, GarbledFilesAreAnErrorWhateverIsWrong) {
  const fs::path path = folder_ / "a.frames", bad = folder_ / "bad.frames";
  const Dataset dataset = open_root(fixture("v21_h264")).select({3});
  for (const bool is_jpeg : {false, true}) {
    make_frame_cache(dataset, options(path, is_jpeg));
    const std::string good = read_file(path.string());
    for (size_t size = 0; size < good.size(); size += std::max<size_t>(1, good.size() / 50)) {
      write(bad, good.substr(0, size));
      EXPECT_EQ(error_of([&] { FrameCache::open(bad.string()); }).kind(), ErrorKind::kData) << size;
    }
    FrameCachePreamble preamble;
    std::memcpy(&preamble, good.data(), sizeof(preamble));
    std::vector<size_t> places;
    for (size_t i = 0; i < sizeof(preamble); ++i) {
      places.push_back(i);
    }
    for (size_t i = preamble.json_offset; i < preamble.json_offset + preamble.json_size; i += 101) {
      places.push_back(i);
    }
    for (const size_t place : places) {
      std::string changed = good;
      changed[place] = static_cast<char>(changed[place] ^ 1);
      write(bad, changed);
      EXPECT_EQ(error_of([&] { FrameCache::open(bad.string()); }).kind(), ErrorKind::kData) << place;
    }
  }
  write(bad, "something else, but longer than a preamble of a frame cache is, by a few bytes");
  EXPECT_STREQ(error_of([&] { FrameCache::open(bad.string()); }).what(), "not a frame cache");
  EXPECT_EQ(error_of([&] { FrameCache::open(folder_ / "none.frames"); }).kind(), ErrorKind::kFile);
}

TEST_F(FrameCacheTest, JpegStatesTheErrorThatItsPicturesHave) {
  const Dataset dataset = open_root(fixture("v21_h264"));
  const fs::path path = folder_ / "cache.frames";
  const FrameCacheSummary summary = make_frame_cache(dataset, options(path, /*is_jpeg=*/true));
  const auto exact = epoch_of(dataset, "off", ImageTransforms::kNone);
  const auto near = epoch_of(dataset, path.string(), ImageTransforms::kNone);
  double squares = 0, sum = 0, largest = 0, count = 0;
  for (size_t k = 0; k < 15; ++k) {  // whole batches: the last one begins the next epoch
    for (size_t i = 0; i < 2; ++i) {
      const Tensor difference =
          (exact[k].cameras[i].pixels.to(at::kDouble) - near[k].cameras[i].pixels.to(at::kDouble)).abs();
      squares += difference.square().sum().item<double>();
      sum += difference.sum().item<double>();
      largest = std::max(largest, difference.max().item<double>());
      count += static_cast<double>(difference.numel());
    }
  }
  EXPECT_EQ(summary.jpeg_error.at("pictures").as_int(), 502);
  EXPECT_NEAR(summary.jpeg_error.at("psnr_db").as_double(), 10 * std::log10(255.0 * 255.0 * count / squares), 0.1);
  EXPECT_NEAR(summary.jpeg_error.at("mean_abs").as_double(), sum / count, 0.02);
  EXPECT_GE(summary.jpeg_error.at("max_abs").as_double(), largest);
  EXPECT_GT(summary.jpeg_error.at("psnr_db").as_double(), 33.0);
  EXPECT_LT(fs::file_size(path), 502U * 3 * kHeight * kWidth / 2);
  EXPECT_EQ(FrameCache::open(path.string())->header().jpeg_error, summary.jpeg_error);
}

TEST_F(FrameCacheTest, AfterAKillNothingIsThereAndTheNextRunClearsAway) {
  const fs::path path = folder_ / "sub" / "a.frames";
  const Dataset dataset = open_root(fixture("v21_h264"));
  const pid_t child = ::fork();
  if (child == 0) {
    FrameCacheOptions slow = options(path, /*is_jpeg=*/true);
    slow.height = slow.width = 2500;  // takes half a minute
    try {
      make_frame_cache(dataset, slow);
    } catch (...) {
    }
    ::_exit(0);
  }
  for (int i = 0; i < 200 && (!fs::exists(folder_ / "sub") || fs::is_empty(folder_ / "sub")); ++i) {
    ::usleep(10'000);
  }
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(names(folder_ / "sub").size(), 1U);
  make_frame_cache(dataset.select({3}), options(path));
  EXPECT_EQ(names(folder_ / "sub"), std::vector<std::string>{"a.frames"});
}

TEST_F(FrameCacheTest, ADamagedVideoIsNamedAndNothingStays) {
  const fs::path root = copy_of("v21_h264"),
                 video = root / "videos/chunk-000/observation.images.wrist/episode_000003.mp4";
  const Dataset dataset = open_root(root);
  fs::resize_file(video, 300);
  const Error error = error_of([&] { make_frame_cache(dataset, options(folder_ / "sub" / "a.frames")); });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  EXPECT_THAT(error.where(), HasSubstr("episode_000003.mp4, episode 3, frame 0, observation.images.wrist"));
  EXPECT_TRUE(fs::is_empty(folder_ / "sub"));
}

}  // namespace
}  // namespace flexor::data
