#include "data/mixture.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "testing/golden.h"

namespace flexor::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Dataset open_renamed(const std::string& name, std::map<std::string, std::string> rename_map = {}) {
  return Dataset::open({.root = testing::tests_path("data/datasets/" + name),
                        .episodes = {},
                        .rename_map = std::move(rename_map),
                        .columns = {}});
}

std::string message_of(std::vector<Mixture::Part> parts) {
  try {
    const Mixture mixture(std::move(parts));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Mixture, PositionsRunThroughTheDatasets) {
  const Mixture mixture({{open_renamed("v21_h264").select({0, 1}), 1.0}, {open_renamed("v30_av1"), 3.0}});
  EXPECT_EQ(mixture.num_frames(), 77 + 251);
  EXPECT_EQ(mixture.num_episodes(), 8);
  EXPECT_DOUBLE_EQ(mixture.share(0), 0.25);
  EXPECT_DOUBLE_EQ(mixture.share(1), 0.75);
  const auto last = mixture.locate(76), first = mixture.locate(77);
  EXPECT_EQ(last.part, 0);
  EXPECT_EQ(last.position, 76);
  EXPECT_EQ(first.part, 1);
  EXPECT_EQ(first.position, 0);
  EXPECT_THROW(mixture.locate(328), Error);
}

TEST(Mixture, CamerasAreMatchedByName) {
  const auto swapped = open_renamed("v21_av1", {{"observation.images.top", "observation.images.wrist"},
                                                {"observation.images.wrist", "observation.images.top"}});
  const Mixture mixture({{open_renamed("v21_h264"), 1.0}, {swapped, 1.0}});
  EXPECT_EQ(mixture.camera_index(0, 0), 0);
  EXPECT_EQ(mixture.camera_index(1, 0), 1);
  EXPECT_EQ(mixture.camera_index(1, 1), 0);
}

TEST(Mixture, RefusesDatasetsThatDoNotFit) {
  EXPECT_THAT(message_of({{open_renamed("v21_h264"), 1.0},
                          {open_renamed("v21_av1", {{"observation.images.top", "observation.images.x"}}), 1.0}}),
              HasSubstr("differ in their cameras"));
  EXPECT_THAT(message_of({{open_renamed("v21_h264"), 1.0}, {open_renamed("v21_av1", {{"action", "actions"}}), 1.0}}),
              HasSubstr("the size of action: 7 and 0"));
  EXPECT_THAT(message_of({{open_renamed("v21_h264"), 0.0}}), HasSubstr("weight 0"));
  EXPECT_THAT(message_of({{open_renamed("v21_h264"), NAN}}), HasSubstr("weight nan"));
  EXPECT_THAT(message_of({}), HasSubstr("no dataset"));
}

TEST(Mixture, StatisticsOfOneDatasetAreItsOwn) {
  const Mixture mixture(open_renamed("v30_av1"));
  EXPECT_EQ(mixture.stats().at("action").values, mixture.dataset(0).stats().at("action").values);
}

TEST(Mixture, StatisticsOfSeveralAreAggregatedWithoutQuantiles) {
  const Dataset twice = open_renamed("v30_av1");
  const Mixture mixture({{twice, 1.0}, {twice, 1.0}});
  const auto merged = mixture.stats().at("action"), single = twice.stats().at("action");
  EXPECT_THAT(merged.at("count"), ElementsAre(502));
  EXPECT_EQ(merged.at("min"), single.at("min"));
  for (size_t d = 0; d < 7; ++d) {
    EXPECT_NEAR(merged.at("mean")[d], single.at("mean")[d], 1e-12);
    EXPECT_NEAR(merged.at("std")[d], single.at("std")[d], 1e-12);
  }
  EXPECT_TRUE(single.has("q01"));
  EXPECT_FALSE(merged.has("q01"));
}

TEST(Mixture, FeaturesWithoutStatisticsInOneDatasetHaveNone) {
  const Mixture mixture({{open_renamed("v21_h264"), 1.0}, {open_renamed("v21_av1", {{"next.reward", "reward"}}), 1.0}});
  EXPECT_FALSE(mixture.stats().contains("next.reward"));
  EXPECT_FALSE(mixture.stats().contains("reward"));
  EXPECT_TRUE(mixture.stats().contains("action"));
}

}  // namespace
}  // namespace flexor::data
