#include "config/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace flexor::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Options {
  std::string policy, dataset, output;
  bool json = false;
  int64_t num_steps = 10;
  double guidance = 1.0;
  std::vector<int64_t> episodes;
  std::optional<int64_t> seed;
  std::string dtype = "float32";
  std::vector<std::string> overrides;
};
void fields(FieldTable& table, Options& o) {
  table.positional("dataset", o.dataset, "dataset folder");
  table("policy", o.policy, "checkpoint folder").required().value_name("DIR");
  table("output", o.output, "file to write").short_flag('o').value_name("FILE");
  table("json", o.json, "print one JSON object");
  table("num_steps", o.num_steps, "integration steps").range(1, 100);
  table("guidance", o.guidance, "weight");
  table("episodes", o.episodes, "which");
  table("seed", o.seed, "random numbers");
  table("dtype", o.dtype, "precision").choices({"float32", "bfloat16"});
  table.rest("key=value", o.overrides, "overrides");
}

std::string error_of(const std::vector<std::string>& arguments) {
  try {
    parse<Options>(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return format_error(error);
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(CommandLine, TakesEverySpelling) {
  const Options o = parse<Options>({"--policy=p", "data", "-o", "f", "--json", "--num-steps", "4", "--guidance", "-1.5",
                                    "--episodes", "3,4", "--seed=7", "a=1", "b.c=2"});
  EXPECT_EQ(o.policy, "p");
  EXPECT_EQ(o.dataset, "data");
  EXPECT_EQ(o.output, "f");
  EXPECT_TRUE(o.json);
  EXPECT_EQ(o.num_steps, 4);
  EXPECT_EQ(o.guidance, -1.5);
  EXPECT_THAT(o.episodes, ElementsAre(3, 4));
  EXPECT_EQ(o.seed, 7);
  EXPECT_THAT(o.overrides, ElementsAre("a=1", "b.c=2"));
  EXPECT_EQ(parse<Options>({"x", "--policy", "p", "--num_steps=5"}).num_steps, 5);
  EXPECT_FALSE(parse<Options>({"x", "--policy", "p", "--json=false"}).json);
  EXPECT_EQ(parse<Options>({"--policy", "p", "--", "--odd"}).dataset, "--odd");
  EXPECT_EQ(parse<Options>({"x", "--policy", "p", "-ofile"}).output, "file");
  EXPECT_EQ(parse<Options>({"x", "--policy", "p", "-o=file"}).output, "file");
  EXPECT_EQ(parse<Options>({"x", "--policy", "p", "--policy", "q"}).policy, "q");
  EXPECT_EQ(parse<Options>({"x", "--policy", "p", "--output", ""}).output, "");
  EXPECT_EQ(parse<Options>({"x", "--policy", "p", "--seed", "-3"}).seed, -3);
  EXPECT_EQ(parse<Options>({"x", "--policy", "p=q=r"}).policy, "p=q=r");
  EXPECT_THAT(parse<Options>({"x", "--policy", "p", "list=[1,2]", "a={b: 1}"}).overrides,
              ElementsAre("list=[1,2]", "a={b: 1}"));
}

TEST(CommandLine, ErrorsNameTheArgument) {
  EXPECT_EQ(error_of({"x", "--polcy", "p"}), "error: unknown flag '--polcy'\n  hint: did you mean '--policy'?\n");
  EXPECT_THAT(error_of({"x"}), HasSubstr("'--policy' is missing"));
  EXPECT_THAT(error_of({"--policy", "p"}), HasSubstr("'dataset' is missing"));
  EXPECT_EQ(error_of({"--policy", "p", ""}), "error: 'dataset' is empty\n  hint: dataset folder\n");
  EXPECT_THAT(error_of({"x", "--policy"}), HasSubstr("'--policy' needs a value"));
  EXPECT_EQ(error_of({"x", "--policy", "p", "--episodes", "1", "--episodes=2,3"}),
            "error: the flag '--episodes' is given 2 times: '1', '2,3'\n"
            "  hint: give one list: --episodes 1,2,3\n");
  EXPECT_THAT(error_of({"x", "--policy", "--json"}), HasSubstr("found the flag '--json'"));
  EXPECT_THAT(error_of({"x", "--policy", "p", "--num-steps", "0"}),
              HasSubstr("'--num-steps': expected 1 to 100, found 0"));
  EXPECT_THAT(error_of({"x", "--policy", "p", "--dtype", "bfloat"}), HasSubstr("did you mean 'bfloat16'?"));
  EXPECT_THAT(error_of({"x", "--policy", "p", "-z"}), HasSubstr("unknown flag '-z'"));
  EXPECT_THAT(error_of({"x", "--policy="}), HasSubstr("'--policy' needs a value after '='"));
  EXPECT_THAT(error_of({"x", "--policy", "p", "-o"}), HasSubstr("the flag '-o' needs a value"));
  EXPECT_THAT(error_of({"x", "--policy", "p", "--unknown=3"}), HasSubstr("unknown flag '--unknown'"));
  EXPECT_THAT(error_of({"x", "--policy", "p", "--json=perhaps"}), HasSubstr("expected true or false"));
}

struct Strict {
  std::string root;
};
void fields(FieldTable& table, Strict& o) {
  table.positional("root", o.root, "folder");
}

TEST(CommandLine, SurplusArgumentsAreRefused) {
  try {
    parse<Strict>({"a", "b"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "unexpected argument 'b'");
  }
}

TEST(CommandLine, UsageListsArgumentsAndFlags) {
  const std::string text = usage<Options>("flexor eval");
  EXPECT_THAT(text, HasSubstr("usage: flexor eval --policy DIR [flags] DATASET [KEY=VALUE ...]\n"));
  EXPECT_THAT(text, HasSubstr("-o, --output FILE"));
  EXPECT_THAT(text, HasSubstr("integration steps (default 10)"));
  EXPECT_THAT(text, HasSubstr("--dtype float32|bfloat16"));
}

}  // namespace
}  // namespace flexor::config
