#include "data/loader.h"

#include <ATen/Parallel.h>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

// For the whole test program: LibTorch's own threads would spin beside the loader's while small tensors are compared.
[[maybe_unused]] const bool kOneTorchThread = [] {
  at::set_num_threads(1);
  return true;
}();

std::shared_ptr<const Mixture> open_root(const std::string& root) {
  DatasetOptions options;
  options.root = root;
  return std::make_shared<const Mixture>(Dataset::open(options));
}

std::shared_ptr<const Mixture> open_mixture(const std::string& name) {
  return open_root(testing::tests_path("data/datasets/" + name));
}

LoaderConfig config(int num_workers, int64_t batch_size = 8) {
  LoaderConfig c;
  c.num_workers = num_workers;
  c.format.height = c.format.width = 56;
  c.format.action_horizon = 10;
  c.sampler.batch_size = batch_size;
  return c;
}

void expect_same(const RawBatch& a, const RawBatch& b) {
  EXPECT_EQ(a.episodes, b.episodes);
  EXPECT_EQ(a.frames, b.frames);
  EXPECT_EQ(a.tasks, b.tasks);
  EXPECT_TRUE(at::equal(a.state, b.state));
  EXPECT_TRUE(at::equal(a.action, b.action));
  EXPECT_TRUE(at::equal(a.action_is_pad, b.action_is_pad));
  ASSERT_EQ(a.cameras.size(), b.cameras.size());
  for (size_t i = 0; i < a.cameras.size(); ++i) {
    EXPECT_EQ(a.cameras[i].name, b.cameras[i].name);
    EXPECT_TRUE(at::equal(a.cameras[i].pixels, b.cameras[i].pixels)) << a.cameras[i].name;
  }
}

RawBatch copy_of(const RawBatch& batch) {
  RawBatch copy = batch;
  for (Tensor* t : {&copy.state, &copy.action, &copy.action_is_pad}) {
    *t = t->clone();
  }
  for (auto& camera : copy.cameras) {
    camera.pixels = camera.pixels.clone();
  }
  return copy;
}

TEST(Loader, BatchesHaveTheDocumentedShapes) {
  Loader loader(open_mixture("v21_h264"), config(2));
  const RawBatch batch = loader.next();
  EXPECT_EQ(batch.size(), 8);
  ASSERT_EQ(batch.cameras.size(), 2U);
  EXPECT_EQ(batch.cameras[0].name, "observation.images.top");
  EXPECT_EQ(batch.cameras[1].name, "observation.images.wrist");
  EXPECT_THAT(batch.cameras[1].pixels.sizes(), ElementsAre(8, 3, 56, 56));
  EXPECT_EQ(batch.cameras[1].pixels.scalar_type(), at::kByte);
  EXPECT_THAT(batch.state.sizes(), ElementsAre(8, 8));
  EXPECT_THAT(batch.action.sizes(), ElementsAre(8, 10, 7));
  EXPECT_THAT(batch.action_is_pad.sizes(), ElementsAre(8, 10));
}

TEST(Loader, NumbersAreTheReferencesWindows) {
  const SafetensorsFile golden =
      SafetensorsFile::open(testing::tests_path("data/datasets/golden/windows_all.safetensors"));
  LoaderConfig c = config(2);
  c.format.pictures = false;
  Loader loader(open_mixture("v30_small"), c);
  for (int k = 0; k < 40; ++k) {
    const RawBatch batch = loader.next();
    const auto positions = loader.order().batch(k).positions;
    for (int64_t i = 0; i < batch.size(); ++i) {
      const int64_t p = positions[static_cast<size_t>(i)];
      EXPECT_TRUE(at::equal(batch.action[i], golden.get("action")[p]));
      EXPECT_TRUE(at::equal(batch.action_is_pad[i], golden.get("action_is_pad")[p]));
      EXPECT_TRUE(at::equal(batch.state[i], golden.get("observation.state")[p][2]));
      EXPECT_EQ(batch.frames[static_cast<size_t>(i)], golden.get("frame_index")[p].item<int64_t>());
    }
  }
}

TEST(Loader, PicturesAreThoseOfTheFrame) {
  const auto mixture = open_mixture("v30_images");
  LoaderConfig c = config(2, 5);
  c.format.height = c.format.width = 0;  // as recorded
  Loader loader(mixture, c);
  const SafetensorsFile golden = testing::golden("video_frames/frames_v30_images.safetensors");
  const Tensor index = golden.get("index");
  int seen = 0;
  for (int k = 0; k < 51; ++k) {
    const RawBatch batch = loader.next();
    const auto positions = loader.order().batch(k).positions;
    for (int64_t row = 0; row < index.size(0); ++row) {
      const auto at = std::find(positions.begin(), positions.end(), index[row].item<int64_t>());
      if (at != positions.end()) {
        for (const auto& camera : batch.cameras) {
          const Tensor picture = camera.pixels[at - positions.begin()].permute({1, 2, 0});
          EXPECT_TRUE(at::equal(picture, golden.get(camera.name)[row])) << camera.name << " " << *at;
        }
        ++seen;
      }
    }
  }
  EXPECT_EQ(seen, 15);  // one epoch meets each of them once
}

TEST(Loader, TheNumberOfWorkersChangesNothing) {
  for (const ImageTransforms transforms :
       {ImageTransforms::kNone, ImageTransforms::kOpenpi, ImageTransforms::kLerobot}) {
    const size_t batches = transforms == ImageTransforms::kNone ? 36 : 10;  // 36: across the end of the epoch
    std::vector<RawBatch> expected;
    for (const int num_workers : {0, 1, 3}) {
      LoaderConfig c = config(num_workers);
      c.format.image_transforms = transforms;
      Loader loader(open_mixture("v30_small"), c);
      for (size_t k = 0; k < batches; ++k) {
        const RawBatch batch = loader.next();
        if (num_workers == 0) {
          expected.push_back(copy_of(batch));
        } else {
          expect_same(batch, expected[k]);
        }
      }
    }
  }
}

TEST(Loader, ResumesAtAnyStep) {
  const auto mixture = open_mixture("v21_h264");
  LoaderConfig c = config(2);
  c.format.image_transforms = ImageTransforms::kOpenpi;
  Loader whole(mixture, c);
  for (int k = 0; k < 30; ++k) {
    whole.next();
  }
  EXPECT_EQ(whole.step(), 30);
  EXPECT_EQ(whole.state(), (SamplerState{0, 240}));
  Loader resumed(mixture, c, whole.step());
  EXPECT_EQ(resumed.state(), whole.state());
  for (int k = 0; k < 6; ++k) {  // across the end of the epoch
    expect_same(resumed.next(), whole.next());
  }
  EXPECT_EQ(resumed.state(), (SamplerState{1, 32}));
  EXPECT_NEAR(resumed.epoch(), 1 + 32.0 / 251, 1e-12);
}

TEST(Loader, ReadsOnlyTheCamerasAskedFor) {
  LoaderConfig c = config(1);
  const auto mixture = open_mixture("v21_h264");
  c.format.image_transforms = ImageTransforms::kOpenpi;
  const RawBatch all = copy_of(Loader(mixture, c).next());
  c.format.cameras = {"observation.images.wrist", "observation.images.other"};
  const RawBatch some = Loader(mixture, c).next();
  ASSERT_EQ(some.cameras.size(), 1U);
  EXPECT_EQ(some.cameras[0].name, "observation.images.wrist");
  EXPECT_TRUE(at::equal(some.cameras[0].pixels, all.cameras[1].pixels));
}

TEST(Loader, FloatPicturesAreNearTheBytes) {
  LoaderConfig c = config(1);
  const auto mixture = open_mixture("v21_h264");
  Loader bytes(mixture, c);
  c.format.float_pictures = true;
  Loader floats(mixture, c);
  const RawBatch a = bytes.next(), b = floats.next();
  EXPECT_EQ(b.cameras[0].pixels.scalar_type(), at::kFloat);
  EXPECT_TENSOR_NEAR(b.cameras[0].pixels * 255.0, a.cameras[0].pixels.to(at::kFloat), 0.0, 1.02);
}

TEST(Loader, BatchesThatAreKeptStayAsTheyAre) {
  Loader loader(open_mixture("v21_h264"), config(2, 4));
  std::vector<RawBatch> kept, copies;
  for (int k = 0; k < 12; ++k) {
    kept.push_back(loader.next());
    copies.push_back(copy_of(kept.back()));
  }
  const Tensor view = kept[0].cameras[0].pixels[1];  // only a view of the first batch stays
  const Tensor expected = view.clone();
  for (size_t k = 0; k < kept.size(); ++k) {
    expect_same(kept[k], copies[k]);
  }
  kept.clear();
  for (int k = 0; k < 12; ++k) {
    loader.next();
  }
  EXPECT_TENSOR_EQUAL(view, expected);
}

TEST(Loader, MixturesReadEveryPart) {
  DatasetOptions a, b;
  a.root = testing::tests_path("data/datasets/v21_h264");
  b.root = testing::tests_path("data/datasets/v30_images");
  const auto mixture =
      std::make_shared<const Mixture>(std::vector<Mixture::Part>{{Dataset::open(a), 1.0}, {Dataset::open(b), 1.0}});
  Loader loader(mixture, config(2));
  int parts[2] = {0, 0};
  for (int k = 0; k < 20; ++k) {
    const RawBatch batch = loader.next();
    EXPECT_EQ(batch.size(), 8);
    for (const int64_t p : loader.order().batch(k).positions) {
      ++parts[mixture->locate(p).part];
    }
  }
  EXPECT_GT(parts[0], 40);
  EXPECT_GT(parts[1], 40);
}

class DatasetWithDamagedVideo : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("flexor_loader_" + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::copy(testing::tests_path("data/datasets/v21_h264"), root_, fs::copy_options::recursive);
    fs::permissions(root_, fs::perms::owner_all, fs::perm_options::add);
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path root_;
  std::string video() const {
    return (root_ / "videos/chunk-000/observation.images.wrist/episode_000003.mp4").string();
  }
};

TEST_F(DatasetWithDamagedVideo, AWorkersErrorArrivesWithItsPlaceAndStays) {
  const auto mixture = open_root(root_.string());
  const std::string content = read_file(video());
  fs::permissions(video(), fs::perms::owner_all, fs::perm_options::add);
  std::ofstream(video(), std::ios::binary) << content.substr(0, 300);
  for (const int num_workers : {0, 2}) {
    Loader loader(mixture, config(num_workers));
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        for (int k = 0; k < 40; ++k) {
          loader.next();
        }
        FAIL() << "no error with " << num_workers << " workers";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kData);
        EXPECT_THAT(error.where(), HasSubstr("episode_000003.mp4, episode 3, frame "));
        EXPECT_THAT(error.where(), HasSubstr("observation.images.wrist"));
        EXPECT_FALSE(error.hint().empty());
      }
    }
  }
}

TEST(Loader, EndsQuicklyWhileReadingAhead) {
  LoaderConfig c = config(2, 128);
  c.prefetch = 4;
  auto loader = std::make_unique<Loader>(open_mixture("v21_h264"), c);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double start = wall_seconds();
  loader.reset();
  EXPECT_LT(wall_seconds() - start, 2.0);
}

TEST(Loader, TellsHowLongItsUserWaited) {
  Loader loader(open_mixture("v21_h264"), config(1));
  loader.next();
  EXPECT_GT(loader.waited_s(), 0.0);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // two batches are read ahead meanwhile
  const double before = loader.waited_s();
  loader.next();
  EXPECT_LT(loader.waited_s() - before, 0.1);
}

TEST(Loader, RefusesSettingsThatMakeNoSense) {
  LoaderConfig c = config(-1);
  EXPECT_THROW(Loader(open_mixture("v21_h264"), c), Error);
  c = config(1);
  c.prefetch = 0;
  EXPECT_THROW(Loader(open_mixture("v21_h264"), c), Error);
}

}  // namespace
}  // namespace flexor::data
