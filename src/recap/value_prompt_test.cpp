#include "recap/value_prompt.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::recap {
namespace {

TEST(ValuePrompt, TextsAndPaddedTokensAreTheReferences) {
  const Json golden = Json::read_file(testing::tests_path("golden/recap_value/prompt_text.json"));
  for (const Json& c : golden.at("cases").as_array()) {
    const std::string& prompt = c.at("prompt").as_string();
    const std::string text = c.at("flavour").as_string() == "steam" ? steam_prompt(prompt) : value_prompt(prompt);
    EXPECT_EQ(text, c.at("prefix_text").as_string());
    std::vector<int64_t> ids;
    for (const char letter : text) {
      ids.push_back(static_cast<unsigned char>(letter) % 250 + 3);
    }
    const std::vector<std::vector<int64_t>> batch{ids};
    const data::TokenBatch tokens = pad_tokens(batch, {.pad = 0, .bos = 2}, c.at("max_length").as_int());
    EXPECT_TENSOR_EQUAL(tokens.tokens[0], at::tensor(c.at("fake_tokens").as_numbers()));
    EXPECT_TENSOR_EQUAL(tokens.mask[0], at::tensor(c.at("mask").as_numbers()));
  }
}

TEST(ValuePrompt, LowerCaseKnowsMoreThanAscii) {
  EXPECT_EQ(clean_value_task("GRÜNE_TASSE"), "grüne tasse");
  EXPECT_EQ(clean_value_task("ВОЗЬМИ Ёлку"), "возьми ёлку");
  EXPECT_EQ(clean_value_task("拿起杯子。"), "拿起杯子。");
}

}  // namespace
}  // namespace flexor::recap
