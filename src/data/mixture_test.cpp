#include "data/mixture.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "data/dataset_stats.h"
#include "data/stats_completion.h"
#include "testing/golden.h"

namespace flexor::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Dataset open(const std::string& name, std::map<std::string, std::string> rename_map = {}) {
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
  const Mixture mixture({{open("v21_h264").select({0, 1}), 1.0}, {open("v30_av1"), 3.0}});
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
  const auto swapped = open("v21_av1", {{"observation.images.top", "observation.images.wrist"},
                                        {"observation.images.wrist", "observation.images.top"}});
  const Mixture mixture({{open("v21_h264"), 1.0}, {swapped, 1.0}});
  EXPECT_EQ(mixture.camera_index(0, 0), 0);
  EXPECT_EQ(mixture.camera_index(1, 0), 1);
  EXPECT_EQ(mixture.camera_index(1, 1), 0);
}

TEST(Mixture, RefusesDatasetsThatDoNotFit) {
  EXPECT_THAT(message_of({{open("v21_h264"), 1.0},
                          {open("v21_av1", {{"observation.images.top", "observation.images.x"}}), 1.0}}),
              HasSubstr("differ in their cameras"));
  EXPECT_THAT(message_of({{open("v21_h264"), 1.0}, {open("v21_av1", {{"action", "actions"}}), 1.0}}),
              HasSubstr("the size of action: 7 and 0"));
  EXPECT_THAT(message_of({{open("v21_h264"), 0.0}}), HasSubstr("weight 0"));
  EXPECT_THAT(message_of({{open("v21_h264"), NAN}}), HasSubstr("weight nan"));
  EXPECT_THAT(message_of({}), HasSubstr("no dataset"));
}

TEST(StatsCompletion, ComputesOnlyWhatIsMissing) {
  const Mixture mixture(open("v21_h264"));  // v2.1 stores no quantiles
  const CompletedStats completed =
      complete_stats(mixture, {{"action", {"q01", "q99"}}, {"observation.state", {"mean", "std"}}});
  EXPECT_THAT(completed.computed.at("action"), ElementsAre("q01", "q99"));
  EXPECT_FALSE(completed.computed.contains("observation.state"));
  const auto exact = compute_stats(mixture.dataset(0), {"action"});
  EXPECT_EQ(completed.stats.at("action").at("q01"), exact.at("action").at("q01"));
  EXPECT_EQ(completed.stats.at("action").at("mean"), mixture.dataset(0).stats().at("action").at("mean"));
  EXPECT_FALSE(completed.stats.at("action").has("q50"));
}

TEST(StatsCompletion, StoredQuantilesOfOneDatasetAreKept) {
  const Mixture mixture(open("v30_av1"));
  const CompletedStats completed = complete_stats(mixture, {{"action", {"q01", "q99"}}});
  EXPECT_TRUE(completed.computed.empty());
  EXPECT_EQ(completed.stats.at("action").at("q01"), mixture.stats().at("action").at("q01"));
}

TEST(StatsCompletion, AMixtureHasTheStatisticsOfAllFrames) {
  const Dataset whole = open("v30_av1");
  const Mixture mixture({{whole.select({0, 1, 2}), 1.0}, {whole.select({3, 4, 5}), 1.0}});
  const CompletedStats completed = complete_stats(mixture, {{"action", {"mean", "q99"}}});
  const auto exact = compute_stats(whole, {"action"});
  EXPECT_EQ(completed.stats.at("action").at("mean"), exact.at("action").at("mean"));
  EXPECT_EQ(completed.stats.at("action").at("q99"), exact.at("action").at("q99"));
}

}  // namespace
}  // namespace flexor::data
