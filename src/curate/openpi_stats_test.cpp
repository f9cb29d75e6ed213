#include "curate/openpi_stats.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "curate/exact_numeric.h"
#include "testing/golden.h"

namespace flexor::curate {
namespace {

using flexor::testing::dataset_path;
/// q01 and q99 as openpi's; mean and std within what summing the 320 rows of a batch in float32 may cost.
void expect_as_openpi(const schema::NormStats& actual, const std::string& golden) {
  const Json expected = Json::read_file(testing::tests_path(golden)).at("norm_stats");
  const Json written = Json::parse(norm_stats_text(actual), "text").at("norm_stats");
  for (const char* name : {"state", "actions"}) {
    for (const char* stat : {"mean", "std", "q01", "q99"}) {
      const auto values = expected.at(name).at(stat).as_numbers(), found = written.at(name).at(stat).as_numbers();
      ASSERT_EQ(found.size(), values.size());
      for (size_t d = 0; d < values.size(); ++d) {
        const double mean = expected.at(name).at("mean").as_numbers()[d], steps = 320 * std::exp2(-24);
        const double std = expected.at(name).at("std").as_numbers()[d];
        const double drift = std::string(stat) == "std" ? (mean * mean + std * std) / std : std::abs(mean) + std;
        const double tolerance = std::string(stat).starts_with("q") ? 1e-6 : std > 0 ? steps * drift : 0.0;
        EXPECT_NEAR(found[d], values[d], tolerance) << golden << " " << name << " " << stat << " " << d;
      }
    }
  }
}

TEST(OpenpiStats, EqualItsNormStats) {
  for (const char* name : {"v21_h264", "v30_small"}) {
    const StatsSource source = open_stats_source(dataset_path(name));
    expect_as_openpi(openpi_stats(source, {.horizon = 10, .batch_size = 32}),
                     "data/datasets/golden/openpi_norm_stats_h10_batch32.json");
    expect_as_openpi(openpi_stats(source, {.horizon = 10, .batch_size = 8}),
                     "golden/statistics/openpi_norm_stats_h10_batch8.json");
    expect_as_openpi(openpi_stats(source, {.horizon = 10, .batch_size = 32, .delta_mask = delta_mask_from({6, -1})}),
                     "golden/statistics/openpi_norm_stats_h10_batch32_delta6.json");
  }
}

TEST(OpenpiStats, ExactOnesPerFrameAreTheDatasets) {
  const StatsSource source = open_stats_source(dataset_path("v21_h264"));
  const schema::NormStats frames = openpi_stats(source, {.horizon = 0, .batch_size = 100, .as_openpi = false});
  std::vector<const data::FeatureInfo*> features;
  for (const data::FeatureInfo& feature : source.numeric) {
    features.push_back(&feature);
  }
  ThreadPool pool(1);
  const schema::NormStats all = exact_numeric_stats(source, features, pool).all;
  for (const auto& [key, name] : {std::pair("state", "observation.state"), std::pair("actions", "action")}) {
    for (const char* stat : {"mean", "std", "q01", "q99"}) {
      const auto &found = frames.find(key)->second.at(stat), &expected = all.find(name)->second.at(stat);
      for (size_t d = 0; d < expected.size(); ++d) {
        EXPECT_NEAR(found[d], expected[d], 1e-12) << key << stat << d;
      }
    }
  }
}

TEST(OpenpiStats, ExactWindowsDoNotDependOnTheBatch) {
  const StatsSource source = open_stats_source(dataset_path("v30_small"));
  const auto stats = [&](int64_t batch_size) {
    return openpi_stats(source, {.horizon = 7, .batch_size = batch_size, .delta_mask = {true}, .as_openpi = false});
  };
  const schema::NormStats one = stats(1), many = stats(64);
  EXPECT_EQ(one.find("actions")->second.at("count")[0], 251 * 7);
  for (const char* stat : {"min", "max", "q01", "q99"}) {
    EXPECT_EQ(one.find("actions")->second.at(stat), many.find("actions")->second.at(stat));
  }
}

TEST(OpenpiStats, WhatItCannotComputeIsRefused) {
  const StatsSource source = open_stats_source(dataset_path("v21_h264"));
  EXPECT_THROW(openpi_stats(source, {.batch_size = 252}), Error);
  EXPECT_THROW(openpi_stats(source, {.delta_mask = delta_mask_from({8})}), Error);
  EXPECT_EQ(delta_mask_from({2, -1, 1}), (std::vector<bool>{true, true, false, true}));
}

}  // namespace
}  // namespace flexor::curate
