#include "curate/episode_curves.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/golden.h"

namespace flexor::curate {
namespace {

data::Dataset open(const std::string& name, int64_t episode) {
  data::DatasetOptions options;
  options.root = testing::tests_path("data/datasets/" + name);
  options.episodes = std::vector{episode};
  options.columns = {"*"};
  return data::Dataset::open(options);
}

TEST(EpisodeCurves, AreTheRecordedValuesOfTheEpisode) {
  const data::Dataset dataset = open("v30_small", 2);
  const std::vector<CurveGroup> groups = episode_curves(dataset);
  ASSERT_FALSE(groups.empty());
  int64_t states = 0, actions = 0;
  for (const CurvePlot& plot : groups[0].plots) {
    for (const Curve& curve : plot.curves) {
      EXPECT_EQ(static_cast<int64_t>(curve.values.size()), dataset.num_frames());
      const bool is_state = curve.label == "state";
      int64_t& count = is_state ? states : actions;
      for (int64_t frame = 0; frame < dataset.num_frames() && !is_state && plot.curves.size() == 1; ++frame) {
        EXPECT_EQ(curve.values[static_cast<size_t>(frame)], dataset.value("action", frame, count));
      }
      ++count;
    }
  }
  EXPECT_EQ(states, dataset.width("observation.state"));
  EXPECT_EQ(actions, dataset.width("action"));
  EXPECT_EQ(groups[0].left_out, 0);
}

TEST(EpisodeCurves, CarryTheStatisticsOfTheDataset) {
  const data::Dataset dataset = open("v30_av1", 0);
  const auto& stats = dataset.stats().at("observation.state");
  const Curve curve = episode_curves(dataset)[0].plots[0].curves[0];
  EXPECT_EQ(curve.label, "state");
  EXPECT_DOUBLE_EQ(curve.mean, stats.at("mean")[0]);
  EXPECT_DOUBLE_EQ(curve.std, stats.at("std")[0]);
  EXPECT_EQ(std::isnan(curve.q01), !stats.has("q01"));
}

TEST(EpisodeCurves, LeaveIndexColumnsOut) {
  for (const CurveGroup& group : episode_curves(open("v21_h264", 1))) {
    for (const CurvePlot& plot : group.plots) {
      EXPECT_THAT(plot.title, ::testing::Not(::testing::AnyOf("timestamp", "index", "frame_index", "task_index")));
    }
  }
}

TEST(Every, StartsWithTheFirst) {
  EXPECT_EQ(every({0, 1, 2, 3, 4}, 2), (std::vector<float>{0, 2, 4}));
  EXPECT_EQ(every({7}, 3), std::vector<float>{7});
}

}  // namespace
}  // namespace flexor::curate
