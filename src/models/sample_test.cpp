#include <gtest/gtest.h>

#include "base/error.h"
#include "base/str_cat.h"
#include "models/golden_fixture.h"
#include "models/rtc.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::models {
namespace {

constexpr double kRtol = 1e-4, kAtol = 2e-5;

class Sample : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Golden, Sample, ::testing::Values("pi0", "pi05"),
                         kind_of<::testing::TestParamInfo<std::string>>);

TEST_P(Sample, CacheAndActionsMatchTheReference) {
  for (const bool fused : {false, true}) {
    GoldenPolicy golden = GoldenPolicy::open(GetParam(), "float32", without_savings(fused));
    const auto taps = record([&] { golden.sample(); });
    for (const char* name : {"kv_cache.first.key", "kv_cache.first.value", "kv_cache.last.key", "kv_cache.last.value",
                             "sample_v.0", "sample_v.9", "sample_x.5", "sampled_actions", "predict_action_chunk"}) {
      SCOPED_TRACE(name);
      EXPECT_TENSOR_NEAR(taps.at(name), golden.want(name), kRtol, kAtol);
    }
    EXPECT_TENSOR_NEAR(golden.sample({.num_steps = 4}), golden.want("sampled_actions_4steps"), kRtol, kAtol);
  }
}

TEST_P(Sample, SavingsDoNotChangeTheActions) {
  for (const bool fused : {false, true}) {
    GoldenPolicy golden = GoldenPolicy::open(GetParam(), "float32", {.exact_savings = true, .fused_attention = fused});
    EXPECT_TENSOR_NEAR(golden.sample(), golden.want("sampled_actions"), kRtol, kAtol);
  }
}

TEST_P(Sample, GuidanceByThePreviousChunkMatchesTheReference) {
  GoldenPolicy golden = GoldenPolicy::open(GetParam());
  const Json& arguments = golden.meta.at("rtc");
  for (const char* schedule : {"ZEROS", "ONES", "LINEAR", "EXP"}) {
    SCOPED_TRACE(schedule);
    RtcArguments rtc;
    rtc.prev_chunk_left_over = golden.inputs.at("rtc_prev_chunk");
    rtc.inference_delay = arguments.at("inference_delay").as_int();
    rtc.execution_horizon = arguments.at("execution_horizon").as_int();
    rtc.config.prefix_attention_schedule = schedule;
    rtc.config.max_guidance_weight = arguments.at("max_guidance_weight").as_double();
    const Tensor actions = golden.sample({.num_steps = arguments.at("num_steps").as_int(), .rtc = rtc});
    EXPECT_TENSOR_NEAR(actions, golden.want(str_cat("rtc.", schedule)), 1e-3, 1e-4);
  }
}

TEST(Rtc, WeightsOfEveryScheduleMatchTheReference) {
  const Json reference = Json::read_file(testing::tests_path("golden/preprocess/preprocess.json"));
  for (const Json& row : reference.at("rtc_prefix_weights").as_array()) {
    const auto weights = rtc_prefix_weights(row.at("schedule").as_string(), row.at("delay").as_int(),
                                            row.at("horizon").as_int(), row.at("total").as_int());
    const auto want = row.at("weights").as_numbers();
    ASSERT_EQ(weights.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_NEAR(weights[i], want[i], 1e-6) << row.dump();
    }
  }
}

TEST(Rtc, AnUnknownScheduleIsAnError) {
  EXPECT_THROW(rtc_prefix_weights("COSINE", 0, 4, 8), Error);
}

TEST(Sample, MoreStepsThanNoneAreNeeded) {
  GoldenPolicy golden = GoldenPolicy::open("pi05");
  EXPECT_THROW(golden.sample({.num_steps = 0}), Error);
}

}  // namespace
}  // namespace flexor::models
