#include "curate/stats.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "curate/exact_numeric.h"
#include "data/dataset.h"
#include "data/dataset_stats.h"
#include "testing/golden.h"

namespace flexor::curate {
namespace {

using flexor::testing::dataset_path;
using ::testing::HasSubstr;

std::vector<const data::FeatureInfo*> all_features(const StatsSource& source) {
  std::vector<const data::FeatureInfo*> features;
  for (const auto* list : {&source.numeric, &source.cameras}) {
    for (const data::FeatureInfo& feature : *list) {
      features.push_back(&feature);
    }
  }
  return features;
}

DatasetStats compute(const std::string& name, const StatsOptions& options, int threads = 2) {
  const StatsSource source = open_stats_source(dataset_path(name));
  ThreadPool pool(threads);
  return dataset_stats(source, all_features(source), pool, options);
}

schema::NormStats golden_stats(const std::string& relative) {
  const std::string path = testing::tests_path(relative);
  return schema::norm_stats_from_json(Json::read_file(path), path);
}

/// What summing n values and their squares in float32, one after the other, may cost mean and std. The references do so
/// over the rows of an episode, 60 at most here, and over all its pixels; the tests of PictureHistogram show ours
/// exact.
struct Drift {
  double mean, std;
};
Drift float32_drift(const schema::FeatureStats& stats, size_t d) {
  if (stats.shape.size() == 3) {
    return {1e-3, 1e-3};
  }
  const double mean = stats.at("mean")[d], std = stats.at("std")[d], steps = 64 * std::exp2(-24);
  const double size = std::max(std::abs(stats.at("min")[d]), std::abs(stats.at("max")[d]));
  return {steps * size, std > 0 ? steps * (mean * mean + std * std) / std : 0.0};
}

/// min, max, count and quantiles within 1e-6 of the dimension's range.
void expect_as_reference(const schema::NormStats& actual, const schema::NormStats& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, stats] : expected) {
    const schema::FeatureStats& found = actual.find(name)->second;
    EXPECT_EQ(found.shape, stats.shape) << name;
    for (const auto& [stat, values] : stats.values) {
      ASSERT_EQ(found.at(stat).size(), values.size()) << name << " " << stat;
      for (size_t d = 0; d < values.size(); ++d) {
        const double range = stat == "count" ? 0.0 : stats.at("max")[d] - stats.at("min")[d];
        const Drift drift = stat == "count" ? Drift{} : float32_drift(stats, d);
        const double tolerance = stat == "std" ? drift.std : stat == "mean" ? drift.mean : 1e-6 * range;
        EXPECT_NEAR(found.at(stat)[d], values[d], tolerance + 1e-9) << name << " " << stat << " " << d;
      }
    }
  }
}

TEST(DatasetStats, LeRobotsNewestMethodEqualsItsScript) {
  for (const char* name : {"v30_from_v21", "v21_h264"}) {  // the same recordings and packets
    const DatasetStats stats = compute(name, {.method = StatsMethod::kLeRobot});
    expect_as_reference(stats.all, golden_stats("data/datasets/golden/stats_augmented_by_head.json"));
    EXPECT_EQ(stats.num_pictures, 2 * 251);
  }
}

TEST(DatasetStats, LeRobot04sMethodEqualsItsScript) {
  const DatasetStats stats = compute("v30_from_v21", {.method = StatsMethod::kLeRobot04});
  expect_as_reference(stats.all, golden_stats("golden/statistics/stats_augmented_by_0.4.4.json"));
}

TEST(DatasetStats, MeanAndStdAreRightWhereFloat32SumsDrift) {
  const schema::NormStats exact = compute("v21_h264", {}).all;
  const schema::NormStats two_pass = golden_stats("data/datasets/golden/stats_v21_h264_by_0.3.3.json");
  const schema::NormStats lerobot = compute("v21_h264", {.method = StatsMethod::kLeRobot}).all;
  for (const char* name : {"observation.state", "action", "next.reward", "frame_index"}) {
    for (const char* stat : {"mean", "std"}) {
      const auto& expected = exact.find(name)->second.at(stat);
      for (size_t d = 0; d < expected.size(); ++d) {
        EXPECT_NEAR(lerobot.find(name)->second.at(stat)[d], expected[d], 1e-12) << name << stat << d;
        EXPECT_NEAR(two_pass.find(name)->second.at(stat)[d], expected[d], 4e-7) << name << stat << d;
      }
    }
  }
}

TEST(DatasetStats, ExactOnesEqualThoseOfTrainingInMemory) {
  const schema::NormStats exact = compute("v21_h264", {}).all;
  const data::Dataset dataset =
      data::Dataset::open({.root = dataset_path("v21_h264"), .episodes = {}, .rename_map = {}, .columns = {"*"}});
  for (const auto& [name, stats] :
       data::compute_stats(dataset, {"observation.state", "action", "index", "next.done"})) {
    for (const auto& [stat, values] : stats.values) {
      for (size_t d = 0; d < values.size(); ++d) {
        EXPECT_NEAR(exact.find(name)->second.at(stat)[d], values[d], 1e-12 * std::max(1.0, std::abs(values[d])))
            << name << " " << stat << " " << d;
      }
    }
  }
}

TEST(DatasetStats, DoNotDependOnThreads) {
  for (const StatsMethod method : {StatsMethod::kExact, StatsMethod::kLeRobot, StatsMethod::kLeRobot04}) {
    const DatasetStats one = compute("v30_small", {.method = method, .per_episode = true}, 1);
    const DatasetStats many = compute("v30_small", {.method = method, .per_episode = true}, 5);
    ASSERT_EQ(one.all.size(), many.all.size());
    for (const auto& [name, stats] : one.all) {
      EXPECT_EQ(stats.values, many.all.find(name)->second.values) << name;
    }
    ASSERT_EQ(one.episodes.size(), 6U);
    for (size_t i = 0; i < one.episodes.size(); ++i) {
      for (const auto& [name, stats] : one.episodes[i]) {
        EXPECT_EQ(stats.values, many.episodes[i].find(name)->second.values) << name;
      }
    }
  }
}

TEST(DatasetStats, ReadTwiceEqualReadOnce) {
  const StatsSource source = open_stats_source(dataset_path("v30_small"));
  std::vector<const data::FeatureInfo*> features;
  for (const data::FeatureInfo& feature : source.numeric) {
    features.push_back(&feature);
  }
  ThreadPool pool(2);
  const ExactNumericStats cached = exact_numeric_stats(source, features, pool);
  const ExactNumericStats some = exact_numeric_stats(source, features, pool, {.cache_bytes = 3000});
  const ExactNumericStats streamed = exact_numeric_stats(source, features, pool, {.cache_bytes = 0});
  for (const auto& [name, stats] : cached.all) {
    EXPECT_EQ(stats.values, some.all.find(name)->second.values) << name;
    EXPECT_EQ(stats.values, streamed.all.find(name)->second.values) << name;
  }
}

TEST(DatasetStats, OfEpisodesMergeToThoseOfTheDataset) {
  for (const char* name : {"v21_h264", "v30_images"}) {
    const DatasetStats stats = compute(name, {.per_episode = true});
    const schema::NormStats merged = data::aggregate_stats(stats.episodes);
    for (const auto& [feature, of] : merged) {
      EXPECT_FALSE(of.has("q01"));
      for (const auto& [stat, values] : of.values) {
        for (size_t d = 0; d < values.size(); ++d) {
          EXPECT_NEAR(values[d], stats.all.find(feature)->second.at(stat)[d], 1e-9) << feature << stat;
        }
      }
    }
  }
}

TEST(DatasetStats, PicturesInParquetHaveThePictureStatistics) {  // PNG, and the same pictures before they were encoded
  const schema::NormStats images = compute("v30_images", {}).all;
  const schema::NormStats video = compute("v30_av1", {}).all;
  for (const char* camera : {"observation.images.top", "observation.images.wrist"}) {
    EXPECT_EQ(images.find(camera)->second.at("count")[0], 251);
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(images.find(camera)->second.at("mean")[c], video.find(camera)->second.at("mean")[c], 0.02);
      EXPECT_NEAR(images.find(camera)->second.at("std")[c], video.find(camera)->second.at("std")[c], 0.02);
    }
  }
}

}  // namespace
}  // namespace flexor::curate
