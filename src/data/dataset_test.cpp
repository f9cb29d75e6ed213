#include "data/dataset.h"

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "base/json.h"
#include "data/episode_split.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::data {
namespace {

using flexor::testing::dataset_path;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Dataset open_all_columns(const std::string& name, std::optional<std::vector<int64_t>> episodes = std::nullopt) {
  return Dataset::open(
      {.root = dataset_path(name), .episodes = std::move(episodes), .rename_map = {}, .columns = {"*"}});
}

SafetensorsFile windows(const std::string& name) {
  return SafetensorsFile::open(testing::tests_path("data/datasets/golden/" + name + ".safetensors"));
}

/// Window of every position, [N, offsets, width], and its padding, [N, offsets].
std::pair<at::Tensor, at::Tensor> read_windows(const Dataset& dataset, std::string_view key,
                                               const std::vector<int64_t>& offsets) {
  const auto count = static_cast<int64_t>(offsets.size());
  const at::Tensor values = at::zeros({dataset.num_frames(), count, dataset.width(key)});
  const at::Tensor pad = at::zeros({dataset.num_frames(), count}, at::kBool);
  for (int64_t i = 0; i < dataset.num_frames(); ++i) {
    const at::Tensor row = values[i], row_pad = pad[i];
    dataset.read_window(key, i, offsets, {row.data_ptr<float>(), static_cast<size_t>(row.numel())},
                        {row_pad.data_ptr<bool>(), static_cast<size_t>(count)});
  }
  return {values, pad};
}

void expect_scalars(const Dataset& dataset, const SafetensorsFile& golden, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const at::Tensor expected = golden.get(name).to(at::kDouble);
    ASSERT_EQ(expected.size(0), dataset.num_frames());
    for (int64_t i = 0; i < dataset.num_frames(); ++i) {
      ASSERT_EQ(dataset.value(name, i), expected[i].item<double>()) << name << " at " << i;
    }
  }
}

void expect_windows(const Dataset& dataset, const SafetensorsFile& golden) {
  std::vector<int64_t> ahead(10);
  std::iota(ahead.begin(), ahead.end(), 0);
  const auto [action, action_pad] = read_windows(dataset, "action", ahead);
  const auto [state, state_pad] = read_windows(dataset, "observation.state", {-2, -1, 0});
  EXPECT_TENSOR_EQUAL(action, golden.get("action"));
  EXPECT_TENSOR_EQUAL(action_pad, golden.get("action_is_pad"));
  EXPECT_TENSOR_EQUAL(state, golden.get("observation.state"));
  EXPECT_TENSOR_EQUAL(state_pad, golden.get("observation.state_is_pad"));
  expect_scalars(
      dataset, golden,
      {"timestamp", "frame_index", "episode_index", "index", "task_index", "next.reward", "next.done", "is_success"});
}

class EveryFormat : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryFormat, WindowsAndColumnsEqualTheReference) {
  const Dataset dataset = open_all_columns(GetParam());
  EXPECT_EQ(dataset.num_frames(), 251);
  EXPECT_EQ(dataset.num_episodes(), 6);
  expect_windows(dataset, windows("windows_all"));
  const Json tasks = Json::read_file(dataset_path("golden/windows_all_tasks.json"));
  for (int64_t i = 0; i < dataset.num_frames(); ++i) {
    ASSERT_EQ(dataset.task(i), tasks.as_array()[static_cast<size_t>(i)].as_string()) << i;
  }
}

TEST_P(EveryFormat, TwoEpisodesKeepTheirOwnWindows) {
  const auto golden = windows("windows_episodes_1_4");
  expect_windows(open_all_columns(GetParam(), std::vector<int64_t>{4, 1}), golden);
  expect_windows(open_all_columns(GetParam()).select({1, 4}), golden);
}

TEST_P(EveryFormat, OpensWithoutErrorsAndKnowsItsShape) {
  const Dataset dataset = open_all_columns(GetParam());
  EXPECT_FALSE(has_errors(dataset.findings())) << dataset.findings()[0].message;
  EXPECT_EQ(dataset.info().fps, (FrameRate{10, 1}));
  ASSERT_EQ(dataset.cameras().size(), 2u);
  EXPECT_EQ(dataset.cameras()[0].name, "observation.images.top");
  EXPECT_EQ(dataset.feature("action").size(), 7);
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < dataset.num_episodes(); ++i) {
    lengths.push_back(dataset.episode(i).length);
  }
  EXPECT_THAT(lengths, ElementsAre(32, 45, 60, 25, 51, 38));
  EXPECT_EQ(dataset.episode_number(76), 1);
  EXPECT_EQ(dataset.frame_id(77).episode_index, 2);
  EXPECT_EQ(dataset.frame_id(76).frame_index, 44);
}

INSTANTIATE_TEST_SUITE_P(Datasets, EveryFormat,
                         ::testing::Values("v21_h264", "v21_av1", "v30_av1", "v30_images", "v30_small", "v30_from_v21"),
                         [](const auto& format) { return std::string(format.param); });

TEST(Dataset, PicturesOfAFilePerEpisodeStartAtZero) {
  const Dataset dataset = open_all_columns("v21_h264");
  const PictureRef picture = dataset.picture(1, 32 + 5);  // episode 1, frame 5
  EXPECT_EQ(*picture.video_path, dataset_path("v21_h264/videos/chunk-000/observation.images.wrist/episode_000001.mp4"));
  EXPECT_EQ(picture.frame_number, 5);
  EXPECT_DOUBLE_EQ(picture.query_s, static_cast<double>(0.5f));
  EXPECT_EQ(picture.image, nullptr);
}

TEST(Dataset, PicturesOfASharedFileStartWhereTheEpisodeDoes) {
  const Dataset dataset = open_all_columns("v30_from_v21");
  for (const int64_t position : {0, 31, 32, 136, 137, 250}) {  // one file for all: picture n is frame n of the dataset
    EXPECT_EQ(dataset.picture(0, position).frame_number, position);
    EXPECT_NEAR(dataset.picture(0, position).query_s, static_cast<double>(position) / 10, 1e-6);
  }
  EXPECT_EQ(dataset.select({3}).picture(0, 0).frame_number, 137);
}

TEST(Dataset, ImagesInParquetAreEncodedFiles) {
  const Dataset dataset = open_all_columns("v30_images");
  const PictureRef first = dataset.picture(0, 0), last = dataset.picture(1, 250);
  ASSERT_NE(first.image, nullptr);
  EXPECT_EQ(first.video_path, nullptr);
  EXPECT_EQ(first.image->substr(1, 3), "PNG");
  EXPECT_EQ(last.image->substr(1, 3), "PNG");
  EXPECT_EQ(dataset.select({5}).picture(1, 37).image, last.image);  // the same row, from the cache
}

TEST(Dataset, ReadsFromSeveralThreads) {
  const Dataset dataset = open_all_columns("v30_images");
  const auto expected = *dataset.picture(0, 100).image;
  std::vector<std::thread> threads;
  std::atomic<int> equal = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = t; i < dataset.num_frames(); i += 4) {
        dataset.picture(t % 2, i);
      }
      equal += *dataset.picture(0, 100).image == expected;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(equal, 4);
}

TEST(Dataset, RenameMapComesFirst) {
  const Dataset dataset =
      Dataset::open({.root = dataset_path("v21_h264"),
                     .episodes = {},
                     .rename_map = {{"observation.images.top", "observation.images.base"}, {"next.reward", "reward"}},
                     .columns = {"reward"}});
  EXPECT_EQ(dataset.cameras()[0].name, "observation.images.base");
  EXPECT_THAT(*dataset.picture(0, 0).video_path, HasSubstr("observation.images.top"));
  EXPECT_TRUE(dataset.has_column("reward"));
  EXPECT_TRUE(dataset.stats().contains("reward"));
  EXPECT_FALSE(dataset.stats().contains("next.reward"));
}

TEST(Dataset, UnknownNamesInTheRenameMapAreRefused) {
  try {
    Dataset::open({.root = dataset_path("v21_h264"), .episodes = {}, .rename_map = {{"actoin", "x"}}, .columns = {}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kConfig);
    EXPECT_EQ(error.hint(), "did you mean action?");
  }
  EXPECT_THROW(Dataset::open({.root = dataset_path("v21_h264"),
                              .episodes = {},
                              .rename_map = {{"action", "observation.state"}},
                              .columns = {}}),
               Error);
}

TEST(Dataset, AMissingFeatureHintsAtTheRenameMap) {
  const Dataset dataset = Dataset::open(
      {.root = dataset_path("v21_h264"), .episodes = {}, .rename_map = {{"action", "actions"}}, .columns = {}});
  try {
    dataset.feature("action");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no feature action; the dataset has observation.state, actions"));
    EXPECT_EQ(error.hint(), "rename_map: {action: action}");
  }
}

TEST(Dataset, UnknownEpisodesAreRefused) {
  EXPECT_THROW(open_all_columns("v21_h264", std::vector<int64_t>{1, 6}), Error);
  EXPECT_THROW(open_all_columns("v21_h264").select({7}), Error);
}

TEST(EpisodeSplit, HoldsOutTheLastEpisodesOfEachTask) {
  const Dataset dataset = open_all_columns("v21_h264");  // red: 0 3 4, blue: 1 2 5
  const EpisodeSplit tenth = split_episodes(dataset, 0.1);
  EXPECT_THAT(tenth.train, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(tenth.held_out, ElementsAre(4, 5));
  EXPECT_THAT(split_episodes(dataset, 0.5).held_out, ElementsAre(2, 3, 4, 5));
  EXPECT_TRUE(split_episodes(dataset, 0).held_out.empty());
  EXPECT_THROW(split_episodes(dataset, 1.0), Error);
  EXPECT_THROW(split_episodes(dataset, 0.9), Error);
}

TEST(EpisodeSplit, TasksRecordedOnceAreSplitTogether) {
  const Dataset dataset = open_all_columns("v21_h264", std::vector<int64_t>{0, 1});
  const EpisodeSplit split = split_episodes(dataset, 0.1);
  EXPECT_THAT(split.train, ElementsAre(0));
  EXPECT_THAT(split.held_out, ElementsAre(1));
}

}  // namespace
}  // namespace flexor::data
