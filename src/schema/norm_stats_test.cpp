#include "schema/norm_stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace flexor::schema {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(std::string_view text) {
  try {
    norm_stats_from_json(Json::parse(text, ""), "stats.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    return format_error(error);
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(NormStats, ReadsWhatLeRobotWrites) {
  const std::string path = std::string(FLEXOR_TESTS_DIR) + "/data/datasets/v30_small/meta/stats.json";
  const NormStats stats = norm_stats_from_json(Json::read_file(path), path);
  const FeatureStats& picture = stats.at("observation.images.top");
  EXPECT_THAT(picture.shape, ElementsAre(3, 1, 1));
  EXPECT_EQ(picture.at("mean").size(), 3u);
  EXPECT_THAT(stats.at("is_success").at("max"), ElementsAre(1.0));  // written as true
  EXPECT_THAT(stats.at("action").at("count"), ElementsAre(251.0));
  EXPECT_EQ(stats.at("action").at("q99").size(), static_cast<size_t>(stats.at("action").shape[0]));
}

TEST(NormStats, WrittenStatisticsReadBackEqual) {
  const std::string path = std::string(FLEXOR_TESTS_DIR) + "/data/datasets/v30_small/meta/stats.json";
  const NormStats stats = norm_stats_from_json(Json::read_file(path), path);
  const NormStats again = norm_stats_from_json(Json::parse(to_json(stats).dump(4), ""), "");
  ASSERT_EQ(again.size(), stats.size());
  for (const auto& [name, feature] : stats) {
    EXPECT_EQ(again.at(name).values, feature.values) << name;
    EXPECT_EQ(again.at(name).shape, feature.shape) << name;
  }
  EXPECT_THAT(to_json(stats).at("action").as_object()[4].second.dump(), "[251]");
}

TEST(NormStats, PlainNumbersAreVectorsOfOne) {
  const NormStats stats = norm_stats_from_json(Json::parse(R"({"x": {"mean": 2, "count": 7}})", ""), "");
  EXPECT_THAT(stats.at("x").shape, ElementsAre(1));
  EXPECT_THAT(stats.at("x").at("mean"), ElementsAre(2.0));
}

TEST(NormStats, BadStatisticsAreNamed) {
  EXPECT_THAT(error_of(R"({"a": {"mean": [1, "x"]}})"), HasSubstr("(stats.json, a.mean)"));
  EXPECT_THAT(error_of(R"({"a": {"mean": [1, 2], "std": [1]}})"), HasSubstr("shape [1] differs from [2]"));
  EXPECT_THAT(error_of(R"({"a": {"mean": [[1, 2], [3]]}})"), HasSubstr("ragged"));
  EXPECT_THAT(error_of(R"({"a": 3})"), HasSubstr("found int"));
  EXPECT_THAT(error_of("[]"), HasSubstr("found array"));
  for (const char* bad : {"[]", R"({"a": 3})", R"({"a": {"mean": ["x"]}})", R"({"a": {"mean": [[1, 2], [3]]}})",
                          R"({"a": {"mean": [1, 2], "std": [1]}})", R"({"a": {"count": [1, 2]}})"}) {
    EXPECT_THAT(error_of(bad), HasSubstr("flexor dataset stats DIR --write")) << bad;
  }
  EXPECT_THAT(error_of(R"({"a": {"count": [1, 2]}})"), HasSubstr("expected one number"));
}

TEST(NormStats, AMissingStatisticSaysWhatThereIs) {
  const NormStats stats = norm_stats_from_json(Json::parse(R"({"x": {"mean": [2], "std": [1]}})", ""), "");
  try {
    stats.at("x").at("q01");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the statistic 'q01' is missing, there is mean, std");
  }
}

}  // namespace
}  // namespace flexor::schema
