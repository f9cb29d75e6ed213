#include "data/normalize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "base/error.h"
#include "base/str_cat.h"
#include "data/relative_actions.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::data {
namespace {

using flexor::testing::golden;
using schema::FeatureType;
using schema::NormMode;
using ::testing::HasSubstr;

const SafetensorsFile& goldens() {
  static const SafetensorsFile file = golden("preprocess/preprocess.safetensors");
  return file;
}

schema::FeatureStats golden_feature_stats(const std::string& feature) {
  schema::FeatureStats stats;
  for (const char* name : {"min", "max", "mean", "std", "q01", "q10", "q90", "q99"}) {
    const Tensor tensor = goldens().get(str_cat("norm.stats.", feature, ".", name)).to(at::kDouble);
    stats.shape = tensor.sizes().vec();
    const Tensor flat = tensor.flatten().contiguous();
    stats.values[name] = {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
  }
  return stats;
}

const std::vector<schema::PolicyFeature> kFeatures = {
    {"observation.state", FeatureType::kState, {7}},
    {"action", FeatureType::kAction, {7}},
    {"observation.images.cam", FeatureType::kVisual, {3, 6, 5}},
};

class NormalizeModes : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Modes, NormalizeModes,
                         ::testing::Values("IDENTITY", "MEAN_STD", "MIN_MAX", "QUANTILES", "QUANTILE10"));

TEST_P(NormalizeModes, EqualsLeRobotToTheBit) {
  for (const schema::PolicyFeature& feature : kFeatures) {
    const schema::FeatureStats stats = golden_feature_stats(feature.name);
    const FeatureNormalizer normalizer(feature, schema::norm_mode_from_name(GetParam()), &stats, 1e-8);
    const Tensor input = goldens().get("norm.in." + feature.name);
    const Tensor normalized = normalizer.normalize(input);
    const std::string key = str_cat("norm.", GetParam(), ".", feature.name);
    EXPECT_TRUE(at::equal(normalized, goldens().get(key))) << key;
    if (feature.type == FeatureType::kAction) {
      EXPECT_TRUE(at::equal(normalizer.unnormalize(normalized), goldens().get(key + "_roundtrip"))) << key;
      EXPECT_TRUE(at::equal(normalizer.unnormalize(input), goldens().get(key + "_unnormalised_of_input"))) << key;
    }
  }
}

TEST(Normalize, OpenpiEqualsItsFloat64Formulas) {
  for (const char* mode : {"MEAN_STD", "QUANTILES"}) {
    for (const auto& feature : {kFeatures[0], kFeatures[1]}) {
      const schema::FeatureStats stats = golden_feature_stats(feature.name);
      const FeatureNormalizer normalizer(feature, schema::norm_mode_from_name(mode), &stats, 1e-8,
                                         NormFormula::kOpenpi);
      const Tensor input = goldens().get("norm.in." + feature.name).to(at::kDouble);
      const std::string key = str_cat(mode, ".", feature.name);
      EXPECT_TENSOR_NEAR(normalizer.normalize(input), goldens().get("openpi_norm." + key), 1e-12, 1e-12);
      EXPECT_TENSOR_NEAR(normalizer.unnormalize(input), goldens().get("openpi_unnorm." + key), 1e-12, 1e-12);
      EXPECT_TENSOR_NEAR(normalizer.unnormalize(normalizer.normalize(input)), input, 1e-9, 1e-9);
    }
  }
}

TEST(Normalize, OpenpiCutsLongStatisticsAndPassesDimsBeyondShortOnes) {
  schema::FeatureStats stats;
  stats.values = {{"mean", {1, 2, 3, 4}}, {"std", {1, 1, 1, 1}}};
  const schema::PolicyFeature wide{"action", FeatureType::kAction, {2}};
  const FeatureNormalizer cut(wide, NormMode::kMeanStd, &stats, 1e-8, NormFormula::kOpenpi);
  const Tensor x = at::ones({1, 2});
  EXPECT_TENSOR_NEAR(cut.unnormalize(x), at::tensor({2.F, 3.F}).unsqueeze(0), 1e-5, 0);
  const Tensor padded = at::ones({1, 3});
  EXPECT_TENSOR_NEAR(cut.unnormalize(padded), at::tensor({2.F, 3.F, 1.F}).unsqueeze(0), 1e-5, 0);
}

std::string message_of(const schema::PolicyFeature& feature, NormMode mode, const schema::FeatureStats* stats) {
  try {
    FeatureNormalizer(feature, mode, stats, 1e-8);
  } catch (const Error& error) {
    return format_error(error);
  }
  return "no error";
}

TEST(Normalize, RefusesStatisticsThatDoNotFit) {
  schema::FeatureStats stats;
  stats.values = {{"mean", {1, 2}}, {"std", {1, 1}}};
  EXPECT_THAT(message_of(kFeatures[0], NormMode::kMeanStd, &stats),
              HasSubstr("has 2 values, the policy's feature has 7"));
  EXPECT_THAT(message_of(kFeatures[0], NormMode::kQuantiles, &stats),
              HasSubstr("QUANTILES needs `q01` of observation.state"));
  EXPECT_THAT(message_of(kFeatures[0], NormMode::kMeanStd, nullptr), HasSubstr("no statistics of it at all"));
  EXPECT_EQ(message_of(kFeatures[0], NormMode::kIdentity, nullptr), "no error");
  stats.values["std"] = {1, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THAT(message_of({"action", FeatureType::kAction, {2}}, NormMode::kMeanStd, &stats), HasSubstr("holds nan"));
}

TEST(Normalize, RefusesStatisticsThatFloat32CannotNormaliseBy) {
  const schema::PolicyFeature action{"action", FeatureType::kAction, {2}};
  schema::FeatureStats stats;
  stats.values = {{"mean", {1, 2}}, {"std", {1, 1e300}}, {"q01", {0, -3e38}}, {"q99", {1, 3e38}}};
  EXPECT_THAT(message_of(action, NormMode::kMeanStd, &stats),
              HasSubstr("`std` of action holds 1e+300 in dimension 1, which float32 cannot normalise by"));
  EXPECT_THAT(message_of(action, NormMode::kQuantiles, &stats), HasSubstr("`q01` of action holds -3e+38"));
  EXPECT_THROW(FeatureNormalizer(action, NormMode::kMeanStd, &stats, 1e-8, NormFormula::kOpenpi), Error);
}

TEST(Normalize, RefusesARangeThatIsTurnedAround) {
  const schema::PolicyFeature action{"action", FeatureType::kAction, {2}};
  schema::FeatureStats stats;
  stats.values = {{"mean", {1, 2}}, {"std", {1, -1}},  {"q01", {0, 1}}, {"q99", {1, 0.5}},
                  {"min", {0, 2}},  {"max", {1, 1.5}}, {"q10", {3, 3}}, {"q90", {3, 3 - 1e-9}}};
  EXPECT_THAT(message_of(action, NormMode::kQuantiles, &stats),
              HasSubstr("`q99` of action, dimension 1: expected at least q01 = 1, found 0.5"));
  EXPECT_THAT(message_of(action, NormMode::kMinMax, &stats),
              HasSubstr("`max` of action, dimension 1: expected at least min = 2, found 1.5"));
  EXPECT_THAT(message_of(action, NormMode::kMeanStd, &stats),
              HasSubstr("`std` of action, dimension 1: expected 0 or more, found -1"));
  EXPECT_EQ(message_of(action, NormMode::kQuantile10, &stats), "no error");  // rounding
  EXPECT_THROW(FeatureNormalizer(action, NormMode::kQuantiles, &stats, 1e-8, NormFormula::kOpenpi), Error);
}

TEST(RelativeActions, EqualTheReference) {
  const Json json = Json::read_file(flexor::testing::tests_path("golden/preprocess/preprocess.json"));
  const Json& expected = json.at("relative");
  const RelativeActions relative{.enabled = true,
                                 .exclude_joints = expected.at("exclude_joints").as_strings(),
                                 .action_names = expected.at("action_names").as_strings()};
  const std::vector<bool> mask = relative_mask(relative, 7);
  for (size_t d = 0; d < mask.size(); ++d) {
    EXPECT_EQ(mask[d], expected.at("mask").as_array()[d].as_bool()) << "dim " << d;
  }
  const Tensor state = goldens().get("relative.state");
  const Tensor out = to_relative(goldens().get("relative.action"), state, mask);
  EXPECT_TRUE(at::equal(out, goldens().get("relative.out")));
  EXPECT_TRUE(at::equal(to_absolute(out, state, mask), goldens().get("relative.back")));
}

TEST(RelativeActions, WithoutNamesEveryDimIsRelative) {
  EXPECT_EQ(relative_mask({true, {}, {}}, 3), std::vector<bool>(3, true));
  EXPECT_THROW(relative_mask({true, {}, {{"a"}}}, 3), Error);
}

TEST(RelativeActions, NeedAStateAsLongAsTheLastRelativeDim) {
  const Tensor action = at::ones({1, 2, 3});
  EXPECT_THROW(to_relative(action, {}, {true, true, true}), Error);
  EXPECT_THROW(to_relative(action, at::ones({1, 2}), {true, true, true}), Error);
  EXPECT_TENSOR_EQUAL(to_relative(action, at::ones({1, 2}), {true, true, false}).sum(), at::scalar_tensor(2.0));
}

}  // namespace
}  // namespace flexor::data
