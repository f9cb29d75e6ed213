#include "cli/eval_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace flexor::cli {
namespace {

TEST(EvalPage, PathsOfOtherBytesAreShownAsUtf8) {
  const std::string html = eval_page({}, "policy \xFF", "d\xC3\xA4taset");
  EXPECT_TRUE(is_utf8(html));
  EXPECT_THAT(html, ::testing::HasSubstr("Policy policy \xC3\xBF on dataset d\xC3\xA4taset"));
}

}  // namespace
}  // namespace flexor::cli
