#include "data/dataset_stats.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "testing/golden.h"

namespace flexor::data {
namespace {

using flexor::testing::dataset_path;
using schema::FeatureStats;
using schema::NormStats;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Dataset open(const std::string& name) {
  return Dataset::open(
      {.root = dataset_path(name), .episodes = {}, .rename_map = {}, .columns = {"next.reward", "next.done"}});
}

NormStats golden_stats(const std::string& name) {
  const std::string path = dataset_path("golden/" + name);
  return schema::norm_stats_from_json(Json::read_file(path), path);
}

void expect_near(const FeatureStats& actual, const FeatureStats& expected, double tolerance, const std::string& name) {
  for (const auto& [stat, values] : expected.values) {
    ASSERT_TRUE(actual.has(stat)) << name << " " << stat;
    const auto& found = actual.at(stat);
    ASSERT_EQ(found.size(), values.size()) << name << " " << stat;
    for (size_t d = 0; d < values.size(); ++d) {
      EXPECT_NEAR(found[d], values[d], tolerance * std::max(1.0, std::abs(values[d])))
          << name << " " << stat << " " << d;
    }
  }
}

TEST(StoredStats, AggregateOfTheEpisodesEqualsTheReference) {
  const Dataset dataset = open("v21_h264");
  const NormStats expected = golden_stats("stats_v21_h264_by_0.3.3.json");
  EXPECT_EQ(dataset.stats().size(), expected.size());
  for (const auto& [name, stats] : expected) {
    ASSERT_TRUE(dataset.stats().contains(name)) << name;
    expect_near(dataset.stats().find(name)->second, stats, 1e-12, name);
  }
}

TEST(StoredStats, ConvertedDatasetHoldsTheSameAggregate) {
  const NormStats v21 = open("v21_h264").stats(), v30 = open("v30_from_v21").stats();
  for (const auto& [name, stats] : v30) {
    expect_near(v21.find(name)->second, stats, 1e-9, name);
  }
}

TEST(ComputedStats, EqualTheExactStoredOnes) {
  const Dataset dataset = open("v21_h264");
  const NormStats computed = compute_stats(dataset, {"action", "observation.state", "next.reward", "next.done"});
  for (const auto& [name, stats] : computed) {
    expect_near(stats, dataset.stats().find(name)->second, 2e-6, name);  // the writer summed in float32
  }
  EXPECT_THAT(computed.at("action").shape, ElementsAre(7));
  EXPECT_THAT(computed.at("action").at("count"), ElementsAre(251));
}

TEST(ComputedStats, QuantilesStandWithinABinOfTheReferencesHistogram) {
  const NormStats computed = compute_stats(open("v30_av1"), {"action", "observation.state"});
  const NormStats histogram = golden_stats("stats_augmented_by_head.json");  // one histogram over the dataset
  for (const auto& [name, stats] : computed) {
    const FeatureStats& expected = histogram.find(name)->second;
    for (const auto* stat : {"q01", "q10", "q50", "q90", "q99"}) {
      for (size_t d = 0; d < stats.at("min").size(); ++d) {
        const double range = stats.at("max")[d] - stats.at("min")[d];
        // between two of 251 values the histogram may stop at either; gaps are below 6 % of the range
        EXPECT_NEAR(stats.at(stat)[d], expected.at(stat)[d], 0.06 * range + 1e-9) << name << " " << stat << " " << d;
      }
    }
  }
}

TEST(ComputedStats, QuantilesInterpolateBetweenOrderStatistics) {
  const Dataset dataset = open("v21_h264").select({0});  // 32 frames
  const FeatureStats stats = compute_stats(dataset, {"timestamp"}).at("timestamp");
  EXPECT_NEAR(stats.at("q50")[0], 1.55, 1e-6);
  EXPECT_NEAR(stats.at("q01")[0], 0.031, 1e-6);
  EXPECT_NEAR(stats.at("q99")[0], 3.069, 1e-6);
  EXPECT_THAT(stats.at("count"), ElementsAre(32));
}

TEST(ComputedStats, EveryFormatGivesTheSameNumbers) {
  const NormStats expected = compute_stats(open("v21_h264"), {"action", "observation.state"});
  for (const auto* name : {"v30_av1", "v30_images", "v30_small", "v30_from_v21"}) {
    const NormStats found = compute_stats(open(name), {"action", "observation.state"});
    EXPECT_EQ(found.at("action").values, expected.at("action").values) << name;
    EXPECT_EQ(found.at("observation.state").values, expected.at("observation.state").values) << name;
  }
}

TEST(AggregateStats, MergesPartsAsIfTheyWereOne) {
  const Dataset dataset = open("v21_h264");
  std::vector<NormStats> parts;
  for (const auto& episodes : {std::vector<int64_t>{0, 3}, {1}, {2, 4, 5}}) {
    parts.push_back(compute_stats(dataset.select(episodes), {"action"}));
  }
  const NormStats merged = aggregate_stats(parts), whole = compute_stats(dataset, {"action"});
  for (const auto* stat : {"min", "max", "mean", "std", "count"}) {
    for (size_t d = 0; d < whole.at("action").at(stat).size(); ++d) {
      EXPECT_NEAR(merged.at("action").at(stat)[d], whole.at("action").at(stat)[d], 1e-12);
    }
  }
  for (size_t d = 0; d < 7; ++d) {  // bounds, not quantiles
    EXPECT_LE(merged.at("action").at("q01")[d], whole.at("action").at("q01")[d]);
    EXPECT_GE(merged.at("action").at("q99")[d], whole.at("action").at("q99")[d]);
  }
}

TEST(AggregateStats, RefusesPartsWithoutCountOrOfOtherSize) {
  NormStats a = compute_stats(open("v21_h264"), {"action"}), b = a;
  b.at("action").values.erase("count");
  EXPECT_THROW(aggregate_stats({a, b}), Error);
  b = a;
  b.at("action").values["mean"].pop_back();
  EXPECT_THROW(aggregate_stats({a, b}), Error);
}

TEST(RelativeActionStats, AreThoseOfEveryFullChunkMinusItsFirstState) {
  const Dataset dataset = open("v21_h264");
  constexpr int64_t kHorizon = 10;
  std::vector<bool> mask(7, true);
  mask[6] = false;
  const FeatureStats stats = compute_relative_action_stats({dataset}, kHorizon, mask);
  for (const int64_t dim : {int64_t{0}, int64_t{6}}) {
    double sum = 0, min = 1e9;
    int64_t count = 0;
    for (int64_t position = 0; position < dataset.num_frames(); ++position) {
      const Dataset::FrameId frame = dataset.frame_id(position);
      if (frame.frame_index + kHorizon > dataset.episode(frame.episode_index).length) {
        continue;
      }
      for (int64_t t = 0; t < kHorizon; ++t) {
        const double origin = dim == 6 ? 0.0 : dataset.value("observation.state", position, dim);
        const double value = dataset.value("action", position + t, dim) - origin;
        sum += value;
        min = std::min(min, value);
        ++count;
      }
    }
    const auto d = static_cast<size_t>(dim);
    EXPECT_EQ(stats.at("count")[0], static_cast<double>(count));
    EXPECT_NEAR(stats.at("mean")[d], sum / static_cast<double>(count), 1e-12);
    EXPECT_EQ(stats.at("min")[d], min);
    EXPECT_LE(stats.at("q01")[d], stats.at("q99")[d]);
  }
}

TEST(RelativeActionStats, RefuseAMaskOfAnotherSize) {
  EXPECT_THROW(compute_relative_action_stats({open("v21_h264")}, 10, std::vector<bool>(9, true)), Error);
}

}  // namespace
}  // namespace flexor::data
