#include "data/prompt_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::data {
namespace {

using flexor::testing::tests_path;
using ::testing::HasSubstr;

Tokenizer bundled() {
  return Tokenizer::open(tests_path("../configs/assets/tiny_tokenizer.model"));
}

Mixture small_dataset() {
  DatasetOptions options;
  options.root = tests_path("data/datasets/v21_h264");
  return Mixture(Dataset::open(options));
}

Processor processor_for(const Mixture& mixture, PromptStyle style, int64_t max_length) {
  ProcessorConfig config;
  config.policy_type = style == PromptStyle::kState ? "pi05" : "pi0";
  config.prompt = style;
  config.stats = mixture.stats();
  config.max_length = max_length;
  for (const auto& [name, type] : {std::pair{schema::kStateKey, schema::FeatureType::kState},
                                   std::pair{schema::kActionKey, schema::FeatureType::kAction}}) {
    config.features.push_back({std::string(name), type, {mixture.dataset(0).width(name)}});
    config.norm_map[type] = schema::NormMode::kMeanStd;
  }
  return Processor(config, bundled());
}

/// The exact number of tokens of the longest prompt, frame by frame.
int64_t longest(const Processor& processor, const Dataset& dataset) {
  int64_t result = 0;
  for (int64_t i = 0; i < dataset.num_frames(); ++i) {
    RawBatch raw;
    std::vector<float> state(static_cast<size_t>(dataset.width(schema::kStateKey)));
    const int64_t now[] = {0};
    dataset.read_window(schema::kStateKey, i, now, state);
    raw.state = at::tensor(state).unsqueeze(0);
    raw.tasks = {dataset.task(i)};
    result = std::max(result, 1 + static_cast<int64_t>(processor.tokenizer().encode(processor.prompts(raw)[0]).size()));
  }
  return result;
}

TEST(PromptCheck, BoundsHoldForEveryState) {
  const Tokenizer tokenizer = bundled();
  const std::vector<std::string> tasks = {"fold", "pick up the red block"};
  const PromptLength length = prompt_length(tokenizer, PromptStyle::kState, tasks, 2);
  for (int64_t bin = -1; bin < 256; ++bin) {
    const int64_t bins[] = {bin, 255 - bin};
    const auto tokens =
        1 + static_cast<int64_t>(tokenizer.encode(make_prompt(PromptStyle::kState, tasks[1], bins)).size());
    EXPECT_LE(length.at_least, tokens);
    EXPECT_GE(length.at_most, tokens);
  }
  const PromptLength plain = prompt_length(tokenizer, PromptStyle::kNewline, tasks, 2);
  EXPECT_EQ(plain.at_least, plain.at_most);
  EXPECT_EQ(plain.at_most, 2 + static_cast<int64_t>(tokenizer.encode(tasks[1]).size()));
}

TEST(PromptCheck, AcceptsExactlyTheLengthsThatSuffice) {
  const Mixture mixture = small_dataset();
  for (const PromptStyle style : {PromptStyle::kNewline, PromptStyle::kState}) {
    const int64_t needed = longest(processor_for(mixture, style, 1000), mixture.dataset(0));
    EXPECT_NO_THROW(check_prompts(processor_for(mixture, style, needed), mixture));
    try {
      check_prompts(processor_for(mixture, style, needed - 1), mixture);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("policy.tokenizer_max_length is " + std::to_string(needed - 1)));
      EXPECT_THAT(error.hint(), HasSubstr("policy.tokenizer_max_length="));
    }
  }
}

}  // namespace
}  // namespace flexor::data
