#include "base/text.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace flexor {
namespace {

TEST(Nearest, FindsTypingErrors) {
  const std::vector<std::string> keys = {"dataset.root", "dataset.episodes", "optimizer.lr", "batch_size", "steps",
                                         "seed"};
  EXPECT_EQ(nearest("batchsize", keys), "batch_size");
  EXPECT_EQ(nearest("batch-size", keys), "batch_size");
  EXPECT_EQ(nearest("stesp", keys), "steps");
  EXPECT_EQ(nearest("optimiser.lr", keys), "optimizer.lr");
  EXPECT_EQ(nearest("lr", keys), "optimizer.lr");
  EXPECT_EQ(nearest("data.root", keys), "dataset.root");
}

TEST(Nearest, DoesNotGuessWildly) {
  EXPECT_EQ(nearest("telemetry", {"steps", "seed"}), "");
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(Utf8, IsToldFromOtherBytes) {
  for (const std::string_view text :
       {"", "plain", "gr\xC3\xBCn", "\xE8\xB5\xA4", "\xF0\x9F\x8E\xAF", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(to_utf8(text), text);
  }
  for (const std::string_view text :
       {"gr\xFCn", "cut \xE8\xB5", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80", "\xFF"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
    EXPECT_TRUE(is_utf8(to_utf8(text))) << text;
  }
  EXPECT_EQ(to_utf8("gr\xFCn"), "gr\xC3\xBCn");
}

TEST(ErrorText, IsPrintable) {
  const Error error(ErrorKind::kData, "no such host 'a\x1b[2J\x7f'\nnor 'b'", "gr\xFCn\nfile", "gr\xC3\xBCn");
  EXPECT_EQ(format_error(error),
            "error: no such host 'a\\x1b[2J\\x7f'\nnor 'b' (gr\\xfcn\\x0afile)\n  hint: gr\xC3\xBCn\n");
}

TEST(Text, IsMadePrintable) {
  EXPECT_EQ(printable_text("gr\xC3\xBCn 1"), "gr\xC3\xBCn 1");
  EXPECT_EQ(printable_text(std::string_view("a\0\x1B[31m\n\x7F", 9)), "a\\x00\\x1b[31m\\x0a\\x7f");
  EXPECT_EQ(printable_text("\xFFgr\xC3\xBCn"), "\\xffgr\\xc3\\xbcn");
  EXPECT_EQ(printable_text("abcdef", 4), "abcd...");
  EXPECT_EQ(printable_text("gr\xC3\xBCn", 3), "gr...");
}

TEST(Text, SplitsJoinsAndTrims) {
  EXPECT_EQ(split_text("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split_text("", ','), std::vector<std::string>{""});
  EXPECT_EQ(join_text({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(trim_text(" \t a b\n"), "a b");
  EXPECT_EQ(trim_text("  "), "");
}

TEST(HumanCount, FollowsLeRobotsLogLine) {
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1234), "1K");
  EXPECT_EQ(human_count(1500), "2K");
  EXPECT_EQ(human_count(2500), "2K");  // Python rounds halves to even
  EXPECT_EQ(human_count(999'999), "1000K");
  EXPECT_EQ(human_count(3.2e9), "3B");
}

TEST(Human, BytesAndSeconds) {
  EXPECT_EQ(human_bytes(512), "512 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_seconds(8.26), "8.3 s");
  EXPECT_EQ(human_seconds(245), "4 min 05 s");
  EXPECT_EQ(human_seconds(7620), "2 h 07 min");
}

}  // namespace
}  // namespace flexor
