#include "data/prompt.h"

#include <cmath>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::data {
namespace {

using flexor::testing::golden;
using flexor::testing::tests_path;

const Json& golden_json() {
  static const Json json = Json::read_file(tests_path("golden/preprocess/preprocess.json"));
  return json;
}

TEST(Prompt, Pi05EqualsTheReference) {
  const SafetensorsFile file = golden("preprocess/preprocess.safetensors");
  const Tensor state = file.get("prompt05.state");
  EXPECT_TRUE(at::equal(state_bins(state), file.get("prompt05.bins")));
  EXPECT_EQ(make_prompts(PromptStyle::kState, golden_json().at("prompt05").at("tasks").as_strings(), state),
            golden_json().at("prompt05").at("prompts").as_strings());
}

TEST(Prompt, Pi0EqualsTheReferences) {
  const Json& expected = golden_json().at("prompt0");
  const std::vector<std::string> tasks = expected.at("tasks").as_strings();
  EXPECT_EQ(make_prompts(PromptStyle::kNewline, tasks, {}), expected.at("lerobot_prompts").as_strings());
  for (size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_EQ(make_prompt(PromptStyle::kOpenpi, tasks[i], {}),
              expected.at("openpi_prompts_before_newline_token").as_strings()[i] + "\n");
  }
}

TEST(Prompt, ANewlineIsAppendedOnce) {
  EXPECT_EQ(make_prompt(PromptStyle::kNewline, "fold", {}), "fold\n");
  EXPECT_EQ(make_prompt(PromptStyle::kNewline, "fold\n", {}), "fold\n");
  EXPECT_EQ(make_prompt(PromptStyle::kPlain, "fold", {}), "fold");
}

TEST(Prompt, StripsWhatPythonStrips) {
  EXPECT_EQ(clean_task(" \t\r\n\x1C_a_\xC2\xA0\xE3\x80\x80"), " a ");
  EXPECT_EQ(clean_task("\xE2\x80\x83 x\xE2\x80\x83y \xC2\x85"), "x\xE2\x80\x83y");
  EXPECT_EQ(clean_task(" \xE3\x80\x80 "), "");
  EXPECT_EQ(clean_task("\xC2"), "\xC2");  // broken UTF-8 is no space
}

TEST(Prompt, LabelFollowsTheCleanedTask) {
  const auto prompt = [](PromptStyle style, const char* task, AdvantageLabel label) {
    return make_prompt(style, with_advantage(style, task, label), {});
  };
  for (const PromptStyle style : {PromptStyle::kNewline, PromptStyle::kOpenpi}) {
    EXPECT_EQ(prompt(style, " put the cup_on the plate", AdvantageLabel::kPositive),
              "put the cup on the plate Advantage: positive\n");
    EXPECT_EQ(prompt(style, "stack\n", AdvantageLabel::kNegative), "stack  Advantage: negative\n");  // as the reference
    EXPECT_EQ(prompt(style, "_a ", AdvantageLabel::kPositive), " a  Advantage: positive\n") << "cleaned once";
  }
  EXPECT_EQ(prompt(PromptStyle::kState, "_a ", AdvantageLabel::kPositive),
            "Task:  a  Advantage: positive, State: ;\nAction: ");
  EXPECT_EQ(prompt(PromptStyle::kOpenpi, " a_b ", AdvantageLabel::kNone), "a b\n");
  EXPECT_EQ(with_advantage(PromptStyle::kNewline, " a_b ", AdvantageLabel::kNone), " a_b ");
}

TEST(Prompt, BinsCountTheLeftEdgesOneByOne) {
  std::vector<double> values = {-5, 5, -1, 1, 0, -0.0, -1e-30, 1e-30, 0.9921875, -1.0000001};
  for (int edge = 0; edge < 256; ++edge) {
    const float left = static_cast<float>(-1.0 + 2.0 * edge / 256);
    values.insert(values.end(), {left, std::nextafterf(left, -9.F), std::nextafterf(left, 9.F)});
  }
  const Tensor bins = state_bins(at::tensor(values, at::kFloat).unsqueeze(0));
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t count = 0;
    for (int edge = 0; edge < 256; ++edge) {
      count += -1.0 + 2.0 * edge / 256 <= static_cast<double>(static_cast<float>(values[i])) ? 1 : 0;
    }
    EXPECT_EQ(bins[0][static_cast<int64_t>(i)].item<int64_t>(), count - 1) << "value " << values[i];
  }
}

TEST(Prompt, Pi05NeedsAState) {
  const std::vector<std::string> tasks = {"fold"};
  EXPECT_THROW(make_prompts(PromptStyle::kState, tasks, {}), Error);
}

}  // namespace
}  // namespace flexor::data
