// Classifier-free guidance while sampling.
#include "models/guidance.h"

#include <ATen/ops/randint.h>
#include <gtest/gtest.h>
#include <limits>

#include "base/error.h"
#include "models/cfg_golden_fixture.h"
#include "models/golden_fixture.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"
#include "testing/error_text.h"
#include "testing/golden.h"

namespace flexor::models {
namespace {

using flexor::testing::error_text;

constexpr double kTolerance = 1e-5;  // the golden's own

TEST(Guidance, SamplesMatchTheReference) {
  for (const bool savings : {false, true}) {
    for (const bool fused : {false, true}) {
      SCOPED_TRACE(str_cat("savings ", savings, ", fused ", fused));
      CfgGolden golden = CfgGolden::open("float32", {.exact_savings = savings, .fused_attention = fused});
      SampleOptions options{.num_steps = golden.meta.at("num_steps").as_int()};
      const auto sample = [&](std::optional<GuidedPrompt> guided) {
        options.guided = std::move(guided);
        return golden.model->sample(golden.batch(), golden.inputs.get("noise"), options);
      };
      const double scale = golden.meta.at("sample_default").at("cfgrl_guidance_scale").as_double();
      EXPECT_TENSOR_NEAR(sample(golden.guided(scale)), golden.expected.get("sample.default"), 0, kTolerance);
      EXPECT_TENSOR_NEAR(sample(golden.guided(1)), golden.expected.get("sample.w1"), 0, kTolerance);
      EXPECT_TENSOR_NEAR(sample(golden.guided(0)), golden.expected.get("sample.w0"), 0, kTolerance);
      EXPECT_TENSOR_NEAR(sample(std::nullopt), golden.expected.get("sample.noguide"), 0, kTolerance);
    }
  }
}

/// Another prompt of `length` tokens for each row of a batch.
GuidedPrompt other_prompt(const schema::Batch& batch, int64_t length, double weight) {
  at::Generator generator = make_generator(11);
  const Tensor tokens = at::randint(3, 500, {batch.size(), length}, generator, at::kLong);
  Tensor mask = at::ones({batch.size(), length}, at::kBool);
  mask[0].narrow(0, length - 2, 2).fill_(false);
  return {tokens * mask, mask, weight};
}

/// The batch with the guided prompts in place of its own.
schema::Batch with_prompt(schema::Batch batch, const GuidedPrompt& guided) {
  batch.tokens = guided.tokens;
  batch.token_mask = guided.mask;
  return batch;
}

class GuidanceTypes : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Golden, GuidanceTypes, ::testing::Values("pi0", "pi05"),
                         kind_of<::testing::TestParamInfo<std::string>>);

TEST_P(GuidanceTypes, WeightsOfZeroAndOneAreTheOnePromptBitForBit) {
  for (const char* dtype : {"float32", "bfloat16", "bfloat16_autocast"}) {
    for (const bool savings : {false, true}) {
      SCOPED_TRACE(str_cat(dtype, ", savings ", savings));
      GoldenPolicy golden = GoldenPolicy::open(GetParam(), std::string(dtype) == "float32" ? dtype : "bfloat16",
                                               {.exact_savings = savings});
      golden.model->options().autocast = std::string(dtype) == "bfloat16_autocast";
      const schema::Batch& batch = golden.inputs.batch;
      for (const int64_t length : {9, 15}) {  // the batch's prompts have 12
        const GuidedPrompt guided = other_prompt(batch, length, 1.0);
        const Tensor noise = golden.inputs.at("sample_noise");
        const Tensor plain = golden.model->sample(batch, noise, {.num_steps = 3});
        const Tensor labelled = golden.model->sample(with_prompt(batch, guided), noise, {.num_steps = 3});
        EXPECT_GT((plain - labelled).abs().max().item<double>(), 1e-4);
        EXPECT_TENSOR_EQUAL(golden.sample({.num_steps = 3, .guided = other_prompt(batch, length, 0.0)}), plain);
        EXPECT_TENSOR_EQUAL(golden.sample({.num_steps = 3, .guided = guided}), labelled);
      }
    }
  }
}

// With one Euler step the sample is noise - v, so that samples mix as velocities do; guidance by the previous chunk is
// affine in v and keeps this.
TEST_P(GuidanceTypes, OneStepMixesTheTwoPrompts) {
  for (const bool savings : {false, true}) {
    for (const bool rtc : {false, true}) {
      SCOPED_TRACE(str_cat("savings ", savings, ", rtc ", rtc));
      GoldenPolicy golden =
          GoldenPolicy::open(GetParam(), "float32", {.exact_savings = savings, .fused_attention = savings});
      SampleOptions options{.num_steps = 1};
      if (rtc) {
        options.rtc = RtcArguments{.prev_chunk_left_over = golden.inputs.at("rtc_prev_chunk"),
                                   .inference_delay = 2,
                                   .execution_horizon = 6,
                                   .config = {}};
      }
      const Tensor noise = golden.inputs.at("sample_noise");
      for (const int64_t length : {9, 15}) {
        const GuidedPrompt guided = other_prompt(golden.inputs.batch, length, 2.5);
        const Tensor plain = golden.model->sample(golden.inputs.batch, noise, options);
        const Tensor labelled = golden.model->sample(with_prompt(golden.inputs.batch, guided), noise, options);
        SampleOptions both = options;
        both.guided = guided;
        EXPECT_TENSOR_NEAR(golden.model->sample(golden.inputs.batch, noise, both), plain * -1.5 + labelled * 2.5, 1e-5,
                           2e-5);
      }
    }
  }
}

// w amplifies what bfloat16 rounds away: at most by |1 - w| of the plain and |w| of the labelled branch.
TEST_P(GuidanceTypes, Bfloat16IsOffByNoMoreThanItsTwoBranches) {
  GoldenPolicy exact = GoldenPolicy::open(GetParam()), rounded = GoldenPolicy::open(GetParam(), "bfloat16");
  const schema::Batch& batch = exact.inputs.batch;
  const Tensor noise = exact.inputs.at("sample_noise");
  const GuidedPrompt guided = other_prompt(batch, 15, 2.5);
  const auto distance = [&](const schema::Batch& inputs, const SampleOptions& options) {
    return (exact.model->sample(inputs, noise, options) - rounded.model->sample(inputs, noise, options))
        .abs()
        .mean()
        .item<double>();
  };
  const double plain = distance(batch, {.num_steps = 1});
  const double labelled = distance(with_prompt(batch, guided), {.num_steps = 1});
  const double mixed = distance(batch, {.num_steps = 1, .guided = guided});
  EXPECT_GT(mixed, 0);
  EXPECT_LE(mixed, 1.1 * (1.5 * plain + 2.5 * labelled));
}

TEST_P(GuidanceTypes, PicturesAreEncodedOnce) {
  GoldenPolicy golden = GoldenPolicy::open(GetParam());
  const auto encoded = [&](const SampleOptions& options) {  // bytes of all pictures' features
    return record([&] { golden.sample(options); }).at("vision_tower.0").storage().nbytes();
  };
  const size_t plain = encoded({.num_steps = 1});
  EXPECT_GT(plain, 0u);
  EXPECT_EQ(encoded({.num_steps = 1, .guided = other_prompt(golden.inputs.batch, 9, 2.0)}), plain);
}

TEST(Guidance, PromptsAndWeightsThatDoNotFitAreRefused) {
  GoldenPolicy golden = GoldenPolicy::open("pi05");
  const auto message = [&](const GuidedPrompt& guided) {
    return error_text([&] { golden.sample({.num_steps = 1, .guided = guided}); });
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const GuidedPrompt good = other_prompt(golden.inputs.batch, 9, 2.0);
  for (const double weight : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(contains(message({good.tokens, good.mask, weight}), "expected a number"));
  }
  EXPECT_TRUE(contains(message({good.tokens.narrow(0, 0, 1), good.mask.narrow(0, 0, 1), 2.0}),
                       "guided tokens [B, L] is int64 [1, 9], expected int64 [2, -1]"));
  EXPECT_TRUE(contains(message({good.tokens, good.mask.narrow(1, 0, 8), 2.0}), "guided token_mask"));
  EXPECT_TRUE(contains(message({good.tokens + 500, good.mask, 2.0}), "the embedding has 512 rows"));
  EXPECT_TRUE(contains(message({{}, {}, 2.0}), "guided tokens [B, L] is missing"));
}

}  // namespace
}  // namespace flexor::models
