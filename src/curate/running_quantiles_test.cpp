#include "curate/running_quantiles.h"

#include <cmath>
#include <gtest/gtest.h>
#include <string>

#include "base/json.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::curate {
namespace {

std::vector<float> batch(int number) {
  static const SafetensorsFile file = testing::golden("statistics/running_quantiles_input.safetensors");
  const Tensor values = file.get("batch" + std::to_string(number)).contiguous();
  return {values.const_data_ptr<float>(), values.const_data_ptr<float>() + values.numel()};
}

Json golden_json(const std::string& name) {
  return Json::read_file(testing::tests_path("golden/statistics/" + name));
}

void expect_near(const schema::FeatureStats& actual, const Json& expected, const std::string& place) {
  for (const auto& [stat, numbers] : expected.as_object()) {
    const std::vector<double> values = numbers.as_numbers();
    ASSERT_EQ(actual.at(stat).size(), values.size()) << place << stat;
    for (size_t d = 0; d < values.size(); ++d) {
      const double tolerance = stat == "std" || stat == "mean" ? 3e-6 : 1e-6;
      EXPECT_NEAR(actual.at(stat)[d], values[d], tolerance * std::max(1.0, std::abs(values[d]))) << place << stat << d;
    }
  }
}

TEST(RunningQuantiles, EqualLeRobotsAfterEveryBatch) {
  const Json golden = golden_json("running_quantiles_head.json");
  RunningQuantiles<float> running(3, RebinRule::kLeRobot);
  int number = 0;
  for (const Json& expected : golden.at("after_batch").as_array()) {
    running.update(std::span<const float>(batch(number)));
    expect_near(running.stats(), expected, "after batch " + std::to_string(number) + " ");
    ++number;
  }
  EXPECT_EQ(number, 5);
}

TEST(RunningQuantiles, OfOneBatchEqualLeRobotsFeatureStats) {
  const Json golden = golden_json("running_quantiles_head.json");
  int number = 0;
  for (const Json& expected : golden.at("per_batch_get_feature_stats").as_array()) {
    RunningQuantiles<float> running(3, RebinRule::kLeRobot);
    running.update(std::span<const float>(batch(number)));
    expect_near(running.stats(), expected, "batch " + std::to_string(number) + " ");
    ++number;
  }
}

TEST(RunningQuantiles, LevelsCountLikeTheirValues) {
  RunningQuantiles<float> rows(1, RebinRule::kLeRobot), levels(1, RebinRule::kLeRobot);
  const std::vector<float> first = {0.5F, 0.25F, 0.25F, 0.75F}, second = {1.0F, 0.5F, 0.5F, 0.0F};
  rows.update(std::span<const float>(first));
  rows.update(std::span<const float>(second));
  levels.update({{{0.25F, 0.5F, 0.75F}, {2, 1, 1}}});
  levels.update({{{0.0F, 0.25F, 0.5F, 1.0F}, {1, 0, 2, 1}}});
  for (const auto& [stat, values] : rows.stats().values) {
    EXPECT_NEAR(levels.stats().at(stat)[0], values[0], 1e-12) << stat;
  }
}

TEST(RunningQuantiles, OfOneRowAreItsValue) {
  RunningQuantiles<double> running(2, RebinRule::kLeRobot);
  const std::vector<double> row = {3, -1};
  running.update(std::span<const double>(row));
  EXPECT_EQ(running.quantile(0, 0.01), 3);
  EXPECT_EQ(running.quantile(1, 0.99), -1);
  EXPECT_EQ(running.std(0), 0);
}

TEST(RunningQuantiles, ManyBatchesOfNarrowFarValuesStayInsideTheirRange) {
  RunningQuantiles<float> running(1, RebinRule::kLeRobot);  // edges collapse in float32
  for (int i = 0; i < 20; ++i) {
    const std::vector<float> rows = {10000.0F + static_cast<float>(i) * 0.001F, 10000.0F};
    running.update(std::span<const float>(rows));
  }
  EXPECT_GE(running.quantile(0, 0.01), 9999.99);
  EXPECT_LE(running.quantile(0, 0.99), 10000.03);
  EXPECT_EQ(running.count(), 40);
}

}  // namespace
}  // namespace flexor::curate
