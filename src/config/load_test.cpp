#include "config/load.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "config/print.h"

namespace flexor::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

enum class Style { kFlexor, kLerobot };

struct Part {
  std::string root;
  double weight = 1.0;
};
void fields(FieldTable& table, Part& part) {
  table("root", part.root, "folder").required();
  table("weight", part.weight, "share").range(0, 1e9);
}

struct Lora {
  int64_t r = 16;
  double alpha = 8;
};
void fields(FieldTable& table, Lora& lora) {
  table("r", lora.r, "rank").range(1, 1024);
  table("alpha", lora.alpha, "scale");
}

struct Optimizer {
  double lr = 2.5e-5;
  std::array<double, 2> betas = {0.9, 0.95};
  std::string master_dtype = "float32";
};
void fields(FieldTable& table, Optimizer& optimizer) {
  table("lr", optimizer.lr, "learning rate").range(0, 1);
  table("betas", optimizer.betas, "moments").range(0, 1);
  table("master_dtype", optimizer.master_dtype, "masters").choices({"", "float32", "none"});
}

struct RunOptions {
  std::string output_dir, tag;
  int64_t steps = 100;
  int batch_size = 8;
  bool resume = false;
  std::optional<int64_t> global_batch_size;
  std::optional<std::string> path;
  std::vector<int64_t> episodes;
  std::vector<Part> mix;
  std::map<std::string, std::string> rename_map;
  Optimizer optimizer;
  std::optional<Lora> lora;
  Style style = Style::kFlexor;
  Json extra;
};
void fields(FieldTable& table, RunOptions& run) {
  table("output_dir", run.output_dir, "folder of the run");
  table("tag", run.tag, "label");
  table("steps", run.steps, "steps").range(1, 1e9);
  table("batch_size", run.batch_size, "samples").range(1, 1 << 20);
  table("resume", run.resume, "continue");
  table("global_batch_size", run.global_batch_size, "samples over all ranks");
  table("path", run.path, "checkpoint");
  table("episodes", run.episodes, "which").range(0, 1e9);
  table.list("mix", run.mix, "datasets");
  table("rename_map", run.rename_map, "names");
  table.section("optimizer", run.optimizer, "AdamW");
  table.section("lora", run.lora, "low rank");
  table.enumeration<Style>("style", run.style, {{"flexor", Style::kFlexor}, {"lerobot", Style::kLerobot}}, "log line");
  table("extra", run.extra, "anything");
  table.alias("policy.optimizer_lr", "optimizer.lr");
}

class LoadTest : public testing::Test {
 public:
  LoadTest() {
    std::string name = (std::filesystem::temp_directory_path() / "flexor_load_test_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    file_ = folder_ + "/run.yaml";
  }
  ~LoadTest() override { std::filesystem::remove_all(folder_); }

 protected:
  Origins read(RunOptions& run, const std::string& yaml, const std::vector<std::string>& overrides = {},
               const Check& check = {}) {
    std::ofstream(file_) << yaml;
    return load(run, {{file_}, overrides}, check);
  }
  std::string error_of(const std::string& yaml, const std::vector<std::string>& overrides = {},
                       const Check& check = {}) {
    RunOptions run;
    try {
      read(run, yaml, overrides, check);
    } catch (const Error& error) {
      EXPECT_EQ(exit_code(error.kind()), error.kind() == ErrorKind::kFile ? 1 : 2);
      return format_error(error);
    }
    ADD_FAILURE() << "no error";
    return "";
  }

  std::string folder_, file_;
};

constexpr const char* kFull = R"(# a comment
output_dir: out/a
tag: 007
steps: 1e3
batch_size: 4
resume: true
global_batch_size: 64
episodes: [0, 2]
mix:
  - {root: a, weight: 2}
  - root: b
rename_map: {actions: action, "observation.images.top": observation.images.base_0_rgb}
optimizer:
  lr: 1e-4
  betas: [0.9, 0.99]
lora: {r: 4}
style: lerobot
extra: {a: [1, 1.0, text, "1", null, true]}
)";

TEST_F(LoadTest, FillsEveryKindOfField) {
  RunOptions run;
  read(run, kFull);
  EXPECT_EQ(run.output_dir, "out/a");
  EXPECT_EQ(run.tag, "007");
  EXPECT_EQ(run.steps, 1000);
  EXPECT_EQ(run.batch_size, 4);
  EXPECT_TRUE(run.resume);
  EXPECT_EQ(run.global_batch_size, 64);
  EXPECT_FALSE(run.path);
  EXPECT_THAT(run.episodes, ElementsAre(0, 2));
  ASSERT_EQ(run.mix.size(), 2u);
  EXPECT_EQ(run.mix[0].weight, 2.0);
  EXPECT_EQ(run.mix[1].root, "b");
  EXPECT_EQ(run.rename_map.at("observation.images.top"), "observation.images.base_0_rgb");
  EXPECT_EQ(run.optimizer.lr, 1e-4);
  EXPECT_EQ(run.optimizer.betas[1], 0.99);
  ASSERT_TRUE(run.lora.has_value());
  EXPECT_EQ(run.lora->r, 4);
  EXPECT_EQ(run.lora->alpha, 8);
  EXPECT_EQ(run.style, Style::kLerobot);
  EXPECT_EQ(run.extra.dump(), R"({"a": [1, 1.0, "text", "1", null, true]})");
}

TEST_F(LoadTest, PrintedConfigurationsLoadEqual) {
  RunOptions run, again;
  read(run, kFull);
  run.tag = "a: \"b\" # c\n\xC3\xA9";
  run.path = "";
  run.optimizer.lr = 1e-5;
  read(again, print(run));
  EXPECT_EQ(flatten(again), flatten(run));
  EXPECT_EQ(print(again), print(run));
  EXPECT_EQ(again.tag, run.tag);
  RunOptions fresh, fresh_again;
  read(fresh_again, print(fresh));
  EXPECT_EQ(print(fresh_again), print(fresh));
  EXPECT_THAT(print(run), HasSubstr("lr: 1.0e-05"));  // PyYAML takes 1e-05 for text
}

TEST_F(LoadTest, OverridesWinAndReachEverything) {
  RunOptions run;
  const Origins origins =
      read(run, kFull,
           {"optimizer.lr=3e-5", "lora.alpha=2", "lora.r=8", "tag=a: b # c", "episodes=3,4", "mix.1.weight=5",
            "rename_map.observation.images.wrist=w", "path=null", "optimizer.betas=[0.8, 0.9]", "steps=7"});
  EXPECT_EQ(run.optimizer.lr, 3e-5);
  EXPECT_EQ(run.lora->alpha, 2);
  EXPECT_EQ(run.lora->r, 8);
  EXPECT_EQ(run.tag, "a: b # c");
  EXPECT_THAT(run.episodes, ElementsAre(3, 4));
  EXPECT_EQ(run.mix[1].weight, 5);
  EXPECT_EQ(run.rename_map.at("observation.images.wrist"), "w");
  EXPECT_EQ(run.rename_map.size(), 3u);
  EXPECT_FALSE(run.path);
  EXPECT_EQ(run.optimizer.betas[0], 0.8);
  EXPECT_EQ(origins.place("steps"), "command line");
  EXPECT_EQ(origins.place("batch_size"), file_ + ":5");
  EXPECT_TRUE(origins.is_set("optimizer"));
  EXPECT_FALSE(origins.is_set("optimizer.master_dtype"));
}

TEST_F(LoadTest, ListsOfSectionsComeFromTheCommandLineToo) {
  RunOptions run;
  read(run, "", {"mix=[{root: x, weight: 3}, {root: y}]", "lora={r: 2}"});
  ASSERT_EQ(run.mix.size(), 2u);
  EXPECT_EQ(run.mix[0].weight, 3);
  EXPECT_EQ(run.lora->r, 2);
}

TEST_F(LoadTest, AnUnknownKeyNamesPlaceAndNearestKey) {
  EXPECT_EQ(error_of("steps: 3\nbatchsize: 4\n"),
            "error: unknown key 'batchsize' (" + file_ + ":2)\n  hint: did you mean 'batch_size'?\n");
  EXPECT_EQ(error_of("", {"optimiser.lr=1"}),
            "error: unknown key 'optimiser' (command line)\n  hint: did you mean 'optimizer'?\n");
  EXPECT_THAT(error_of("optimizer: {learning: 1}"), HasSubstr("unknown key 'optimizer.learning'"));
  EXPECT_THAT(error_of("lora: {rr: 1}"), HasSubstr("did you mean 'lora.r'?"));
}

TEST_F(LoadTest, AllProblemsAreListedAtOnce) {
  const std::string text =
      error_of("steps: many\nbatch_size: 0\nfoo: 1\noptimizer: {master_dtype: float16}\nmix: [{weight: 1}]",
               {"resume=maybe", "novalue"});
  EXPECT_THAT(text, HasSubstr("error: 7 problems in the configuration"));
  EXPECT_THAT(text, HasSubstr("'steps': expected an integer, found 'many' (" + file_ + ":1)"));
  EXPECT_THAT(text, HasSubstr("'batch_size': expected 1 to 1048576, found 0 (" + file_ + ":2)"));
  EXPECT_THAT(text, HasSubstr("unknown key 'foo' (" + file_ + ":3)"));
  EXPECT_THAT(text, HasSubstr("'optimizer.master_dtype': expected one of '', float32, none, found 'float16'"));
  EXPECT_THAT(text, HasSubstr("'mix[0].root' is missing"));
  EXPECT_THAT(text, HasSubstr("'resume': expected true or false, found 'maybe' (command line)"));
  EXPECT_THAT(text, HasSubstr("expected key=value, found 'novalue'"));
}

TEST_F(LoadTest, RulesAcrossFieldsAreListedWithTheRest) {
  const Check check = [](const Origins& origins) {
    EXPECT_TRUE(origins.is_set("steps"));
    return std::vector<Finding>{{"steps", "hidden: this key has a problem already", "", ""},
                                {"tag", "tag is bad", "", "x"}};
  };
  const std::string text = error_of("steps: 0", {}, check);
  EXPECT_THAT(text, HasSubstr("2 problems"));
  EXPECT_THAT(text, HasSubstr("tag is bad"));
  EXPECT_THAT(text, testing::Not(HasSubstr("hidden")));
}

TEST_F(LoadTest, RulesAcrossFieldsNeverSeeAValueOutOfRange) {
  RunOptions run;
  int64_t seen = 0;
  const auto check = [&](const Origins&) {
    seen = run.batch_size;  // which a rule may divide by
    return std::vector<Finding>();
  };
  EXPECT_THROW(load(run, {.files = {}, .overrides = {"batch_size=0", "optimizer.master_dtype=half"}}, check), Error);
  EXPECT_EQ(seen, 8);
  EXPECT_EQ(run.optimizer.master_dtype, "float32");
}

TEST_F(LoadTest, ADuplicateKeyNamesBothPlaces) {
  EXPECT_EQ(error_of("steps: 1\ntag: a\nsteps: 2\n"), "error: the key 'steps' stands twice (" + file_ + ":1 and " +
                                                          file_ + ":3)\n  hint: remove one of the two\n");
  EXPECT_THAT(error_of("optimizer:\n  lr: 1\n  lr: 2\n"), HasSubstr("'optimizer.lr' stands twice"));
}

TEST_F(LoadTest, AliasesReachTheirTargetAndMayNotContradict) {
  RunOptions run;
  const Origins origins = read(run, "policy: {optimizer_lr: 0.5}");
  EXPECT_EQ(run.optimizer.lr, 0.5);
  EXPECT_TRUE(origins.is_set("optimizer.lr"));
  read(run, "policy: {optimizer_lr: 0.25}\noptimizer: {lr: 0.25}");
  EXPECT_EQ(run.optimizer.lr, 0.25);
}

TEST_F(LoadTest, ContradictingAliasesNameBothValues) {
  const std::string text = error_of("policy: {optimizer_lr: 0.5}\noptimizer: {lr: 0.25}");
  EXPECT_THAT(text, HasSubstr("'policy.optimizer_lr' is '0.5' but 'optimizer.lr', another name of it, is '0.25'"));
  EXPECT_THAT(text, HasSubstr(file_ + ":1 and " + file_ + ":2"));
}

TEST_F(LoadTest, BadFilesAreNamed) {
  EXPECT_THAT(error_of("a: [1\nb: 2\n"), HasSubstr("not valid YAML"));
  EXPECT_THAT(error_of("steps: 1\n  tag: x\n"), HasSubstr(file_ + ":2"));
  EXPECT_THAT(error_of("- 1\n- 2\n"), HasSubstr("expected keys and values, found a list of 2"));
  EXPECT_THAT(error_of("steps: 1\n---\nsteps: 2\n"), HasSubstr("one YAML document"));
  EXPECT_THAT(error_of("extra: &a [*a]\n"), HasSubstr("nested deeper"));
  EXPECT_THAT(error_of("optimizer: 3\n"), HasSubstr("'optimizer': expected keys and values, found '3'"));
  EXPECT_THAT(error_of("? [a]\n: 1\n"), HasSubstr("as a key"));
  RunOptions run;
  try {
    load(run, {{folder_ + "/none.yaml"}, {}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(exit_code(error.kind()), 1);
  }
}

TEST_F(LoadTest, OfAFileThatIsOneLongTextOnlyTheStartIsShown) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += "\u00e4 ";
  }
  const std::string message = error_of(text);
  EXPECT_THAT(message, HasSubstr("... (2999 bytes)"));
  EXPECT_LT(message.size(), 500u);
}

TEST_F(LoadTest, TypesAreStrict) {
  for (const char* bad :
       {"steps: 1.5", "steps: \"1\"", "steps: [1]", "steps: null", "resume: 1", "episodes: 3", "episodes: [-1]",
        "optimizer: {betas: [0.9]}", "optimizer: {lr: .nan}", "batch_size: 99999999999", "rename_map: [a]",
        "tag: {a: b}", "steps: 10000000000000000000000"}) {
    SCOPED_TRACE(bad);
    EXPECT_NE(error_of(bad), "");
  }
}

TEST_F(LoadTest, LaterFilesLieOverEarlierOnes) {
  std::ofstream(folder_ + "/base.yaml") << "steps: 5\noptimizer: {lr: 0.5, master_dtype: none}\nrename_map: {a: b}\n";
  std::ofstream(file_) << "optimizer: {lr: 0.25}\nrename_map: {c: d}\n";
  RunOptions run;
  load(run, {{folder_ + "/base.yaml", file_}, {}});
  EXPECT_EQ(run.steps, 5);
  EXPECT_EQ(run.optimizer.lr, 0.25);
  EXPECT_EQ(run.optimizer.master_dtype, "none");
  EXPECT_EQ(run.rename_map.size(), 1u);
}

TEST(Print, DifferencesNameBothValues) {
  RunOptions a, b;
  b.optimizer.lr = 1e-3;
  b.lora = Lora{};
  const std::vector<Difference> found = differences(flatten(a), flatten(b));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].key, "optimizer.lr");
  EXPECT_EQ(found[0].before, "2.5e-05");
  EXPECT_EQ(found[0].after, "0.001");
  EXPECT_EQ(found[1].before, "null");
}

TEST(Print, ManualsListTypeDefaultAndRule) {
  const std::string text = to_markdown(describe_config<RunOptions>());
  EXPECT_THAT(text, HasSubstr("| `steps` | int | `100` | steps (1 to 1000000000) |"));
  EXPECT_THAT(text, HasSubstr("| `optimizer.betas` | 2 x float | `[0.9, 0.95]` | moments (0 to 1) |"));
  EXPECT_THAT(text, HasSubstr("| `mix[].root` | text | `\"\"` | folder (required) |"));
  EXPECT_THAT(text, HasSubstr("| `lora.r` | int | `16` |"));
}

}  // namespace
}  // namespace flexor::config
