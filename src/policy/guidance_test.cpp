#include "policy/guidance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "policy/policy.h"
#include "policy/policy_fixture.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"
#include "testing/error_text.h"
#include "testing/golden.h"

namespace flexor::policy {
namespace {

using flexor::testing::error_text;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr Guidance kPositive{.type = GuidanceType::kPositive, .weight = 2.0};

void write_training(const std::string& folder, const std::string& json) {
  write_file_atomic(folder + "/flexor_recap.json", json);
}

class GuidedTypes : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Types, GuidedTypes, ::testing::Values("pi0", "pi05"));

TEST_P(GuidedTypes, ThePromptHoldsTheLabelAndWhatThePlainOneHolds) {
  const Policy policy = Policy::open(policy_folder(GetParam(), "label"));
  const data::RawBatch raw = observations(2);
  const std::vector<std::string> plain = policy.processor().prompts(raw);
  for (const auto& [type, label] :
       {std::pair(GuidanceType::kPositive, "positive"), std::pair(GuidanceType::kNegative, "negative")}) {
    const auto guided = policy.guided_prompt(raw, {.type = type, .weight = 1.5});
    ASSERT_TRUE(guided);
    EXPECT_EQ(guided->weight, 1.5);
    for (int64_t b = 0; b < 2; ++b) {
      const std::string& task = raw.tasks[static_cast<size_t>(b)];
      std::string expected = plain[static_cast<size_t>(b)];
      expected.replace(expected.find(task), task.size(), str_cat(task, " Advantage: ", label));
      const data::TokenBatch tokens = policy.processor().tokenizer().encode_batch({&expected, 1}, 80);
      EXPECT_TENSOR_EQUAL(guided->tokens[b], tokens.tokens[0]);
      EXPECT_TENSOR_EQUAL(guided->mask[b], tokens.mask[0]);
    }
  }
  EXPECT_FALSE(policy.guided_prompt(raw, {}));
  EXPECT_FALSE(policy.guided_prompt(raw, {.type = GuidanceType::kPositive, .weight = 0.0}));
}

TEST_P(GuidedTypes, WeightOneIsTheLabelledPromptAndZeroThePlainOne) {
  Policy policy = Policy::open(policy_folder(GetParam(), "weights"));
  const data::RawBatch raw = observations(3);
  at::Generator generator = make_generator(1);
  const Tensor noise = policy.draw_noise(3, generator);
  const models::SampleOptions options = policy.default_sampling();
  data::RawBatch labelled = raw;
  for (std::string& task : labelled.tasks) {
    task += " Advantage: positive";
  }
  const Tensor plain = policy.predict(raw, noise, options).actions;
  const Tensor positive = policy.predict(labelled, noise, options).actions;
  const auto guided = [&](double weight) {
    return policy.predict(raw, noise, options, {.type = GuidanceType::kPositive, .weight = weight}).actions;
  };
  EXPECT_GT((plain - positive).abs().max().item<double>(), 1e-4);
  EXPECT_TENSOR_EQUAL(guided(1), positive);
  EXPECT_TENSOR_EQUAL(guided(0), plain);
  EXPECT_TENSOR_EQUAL(policy.predict(raw, noise, options, {.type = GuidanceType::kNoGuide, .weight = 7.0}).actions,
                      plain);
  EXPECT_GT((guided(2) - positive).abs().max().item<double>(), 1e-4);
  models::SampleOptions prepared = options;
  prepared.guided = policy.guided_prompt(raw, kPositive);
  EXPECT_TENSOR_EQUAL(policy.predict(policy.processor().preprocess(raw), noise, prepared).actions, guided(2));
}

TEST(Guidance, ActsWithTheChunkThatPredictGives) {
  Policy policy = Policy::open(policy_folder("pi05", "guided_act"));
  const data::RawBatch raw = observations(2);
  at::Generator first = make_generator(3), again = make_generator(3);
  const models::SampleOptions options = policy.default_sampling();
  const Tensor chunk = policy.predict(raw, policy.draw_noise(2, first), options, kPositive).actions;
  EXPECT_TENSOR_EQUAL(policy.act(raw, again, options, kPositive), chunk.select(1, 0));
  EXPECT_TENSOR_EQUAL(policy.act(raw, again, options, kPositive), chunk.select(1, 1));
}

TEST(Guidance, APolicyThatNeverSawNegativeLabelsRefusesThem) {
  const std::string folder = policy_folder("pi05", "positive_only");
  const data::RawBatch raw = observations(1);
  const Guidance negative{.type = GuidanceType::kNegative, .weight = 1.0};
  EXPECT_FALSE(read_label_training(folder));
  EXPECT_TRUE(Policy::open(folder).guided_prompt(raw, negative));  // nothing is known of its training

  write_training(folder, R"({"positive_only_conditional": true, "guidance_scale": 1.5, "guidance_type": "positive"})");
  Policy policy = Policy::open(folder);
  ASSERT_TRUE(policy.label_training());
  EXPECT_EQ(policy.label_training()->guidance.weight, 1.5);
  EXPECT_EQ(policy.label_training()->guidance.type, GuidanceType::kPositive);
  at::Generator generator = make_generator(1);
  EXPECT_THAT(
      error_text([&] { policy.predict(raw, policy.draw_noise(1, generator), policy.default_sampling(), negative); }),
      HasSubstr("it has never seen a negative label"));
  EXPECT_TRUE(policy.guided_prompt(raw, kPositive));

  write_training(folder, R"({"positive_only_conditional": false})");
  EXPECT_TRUE(Policy::open(folder).guided_prompt(raw, negative));
}

TEST(Guidance, WhatCannotBeReadOrUsedIsNamed) {
  const std::string folder = policy_folder("pi05", "damaged_recap");
  for (const auto& [json, part] : {std::pair(R"({"guidance_scale": 1})", "positive_only_conditional"),
                                   std::pair(R"({"positive_only_conditional": 3})", "bool"),
                                   std::pair(R"({"positive_only_conditional": true, "guidance_type": "best"})", "best"),
                                   std::pair("[", "flexor_recap.json")}) {
    write_training(folder, json);
    const std::string text = error_text([&] { read_label_training(folder); });
    EXPECT_THAT(text, StartsWith("error: "));
    EXPECT_THAT(text, HasSubstr(part));
    EXPECT_THAT(text, HasSubstr("flexor_recap.json"));
  }
  for (const double weight : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(error_text([&] { check_guidance({GuidanceType::kPositive, weight}, {}, "--guidance"); }),
                HasSubstr("expected a number"));
  }
  EXPECT_THROW(guidance_type("Positive"), Error);
  for (const auto type : {GuidanceType::kNoGuide, GuidanceType::kPositive, GuidanceType::kNegative}) {
    EXPECT_EQ(guidance_type(guidance_name(type)), type);
  }
}

TEST(Guidance, APromptThatOnlyFitsWithoutItsLabelIsAnError) {
  const std::string folder = policy_folder("pi05", "long");
  Policy policy = Policy::open(folder);
  const data::RawBatch raw = observations(2);
  const auto longest = [](const Tensor& mask) { return mask.sum(1).max().item<int64_t>(); };
  const int64_t plain = longest(policy.processor().preprocess(raw).token_mask);
  ASSERT_LT(plain, longest(policy.guided_prompt(raw, kPositive)->mask));
  data::ProcessorConfig config = policy.processor().config();
  config.max_length = plain;
  const Policy tight(models::make_policy(policy.config()), data::Processor(config, policy.processor().tokenizer()),
                     at::kCPU);
  EXPECT_EQ(tight.processor().preprocess(raw).tokens.size(1), plain);
  EXPECT_THAT(error_text([&] { tight.guided_prompt(raw, kPositive); }), HasSubstr("policy.tokenizer_max_length"));
}

}  // namespace
}  // namespace flexor::policy
