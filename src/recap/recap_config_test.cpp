#include "recap/recap_config.h"

#include <fstream>

#include "recap/recap_fixture.h"

namespace flexor::recap {
namespace {

class Config : public RecapFolder {
 protected:
  std::string file(const std::string& text) {
    const std::string path = folder_ + "/config.yaml";
    std::ofstream(path) << text;
    return path;
  }
  RecapConfig load(const std::string& text, std::optional<Step> step, const std::vector<std::string>& overrides = {}) {
    return load_recap_config({.files = {file(text)}, .overrides = overrides}, step);
  }
};

constexpr const char* kWhole =
    "tag: a\n"
    "output_dir: out\n"
    "data:\n"
    "  gamma: 0.5\n"
    "  train_data_paths: [{dataset_path: x, type: sft}, {dataset_path: y, type: rollout, weight: 2}]\n"
    "value:\n"
    "  data: {gamma: 0.25, eval_data_paths: [{dataset_path: z, type: eval}]}\n"
    "  actor: {global_batch_size: 64}\n"
    "advantages: {advantage: {positive_quantile: 0.4}}\n"
    "policy: {actor: {optim: {lr: 3.0e-5}}}\n";

TEST_F(Config, SharedDataReachesEveryStep) {
  const RecapConfig c = load(kWhole, std::nullopt);
  EXPECT_EQ(c.returns.data.train_data_paths.size(), 2U);
  EXPECT_EQ(c.policy.data.train_data_paths[1].weight, 2);
  EXPECT_EQ(c.returns.data.gamma, 0.5);
  EXPECT_EQ(c.value.data.gamma, 0.25);
  EXPECT_EQ(c.advantages.data.gamma, 0.5);
  EXPECT_EQ(c.returns.data.tag, "a");
  EXPECT_EQ(c.advantages.advantage.returns_tag, "a");
  EXPECT_EQ(c.advantages.advantage.tag, "a");
  EXPECT_EQ(c.policy.data.advantage_tag, "a");
  EXPECT_EQ(c.value.runner.val_check_interval, 500);
  EXPECT_EQ(c.policy.actor.optim.lr, 3e-5);
  EXPECT_EQ(c.policy.actor.optim.lr_scheduler, "cosine");
  EXPECT_EQ(c.value.actor.optim.lr_scheduler, "constant");
}

TEST_F(Config, AStepTakesItsTreeAtTheTop) {
  const RecapConfig c = load(
      "data: {train_data_paths: [{dataset_path: x, type: eval}], tag: t}\n"
      "advantage: {value_checkpoint: v, returns_tag: null, positive_quantile: 0.2}\n",
      Step::kAdvantages, {"advantage.positive_quantile=0.1", "data.gamma=0.9"});
  EXPECT_EQ(c.advantages.advantage.positive_quantile, 0.1);
  EXPECT_EQ(c.advantages.data.gamma, 0.9);
  EXPECT_EQ(c.advantages.advantage.value_checkpoint, "v");
  EXPECT_TRUE(throws_error(ErrorKind::kConfig, "found the tree of one step",
                           [&] { load("data: {}\nactor: {}\n", std::nullopt); }));
}

TEST_F(Config, OverridesOfAStepReachIt) {
  const RecapConfig c = load(kWhole, Step::kValue,
                             {"actor.seed=7", "value.actor.micro_batch_size=16", "data.gamma=0.75",
                              "data.train_data_paths.1.type=eval", "runner.max_steps=3"});
  EXPECT_EQ(c.value.actor.seed, 7);
  EXPECT_EQ(c.value.actor.micro_batch_size, 16);
  EXPECT_EQ(c.value.data.gamma, 0.75);
  EXPECT_EQ(c.value.data.train_data_paths[1].type, "eval");
  EXPECT_EQ(c.value.runner.max_steps, 3);
}

TEST_F(Config, PathsThatAreReadStandBesideTheFile) {
  for (const char* name : {"tokenizer.model", "demos", "siglip", "policy"}) {
    std::filesystem::create_directories(folder_ + "/" + name);
  }
  const RecapConfig c = load(
      "output_dir: out\n"
      "data: {train_data_paths: [{dataset_path: demos, type: sft}, {dataset_path: elsewhere, type: sft}]}\n"
      "value: {runner: {val_check_interval: -1}, actor: {model: {tokenizer_path: tokenizer.model, siglip_path: "
      "siglip}}}\n"
      "advantages: {advantage: {model: {tokenizer_path: tokenizer.model}}}\n"
      "policy: {actor: {model: {model_path: policy, tokenizer_path: tokenizer.model}}}\n",
      std::nullopt);
  const std::string tokenizer = folder_ + "/tokenizer.model";
  EXPECT_EQ(c.value.actor.model.tokenizer_path, tokenizer);
  EXPECT_EQ(c.value.actor.model.siglip_path, folder_ + "/siglip");
  EXPECT_EQ(c.advantages.advantage.model.tokenizer_path, tokenizer);
  EXPECT_EQ(c.policy.actor.model.tokenizer_path, tokenizer);
  EXPECT_EQ(c.policy.actor.model.model_path, folder_ + "/policy");
  EXPECT_EQ(c.returns.data.train_data_paths[0].dataset_path, folder_ + "/demos");
  EXPECT_EQ(c.policy.data.train_data_paths[0].dataset_path, folder_ + "/demos");
  EXPECT_EQ(c.policy.data.train_data_paths[1].dataset_path, "elsewhere") << "in neither place: as it was written";
  EXPECT_EQ(c.output_dir, "out") << "what is written is meant from the current folder";
}

TEST_F(Config, TagsThatContradictAreRefused) {
  EXPECT_TRUE(throws_error(ErrorKind::kConfig, "'advantages.advantage.returns_tag' is 'b' but 'tag' is 'a'",
                           [&] { load(kWhole, std::nullopt, {"advantages.advantage.returns_tag=b"}); }));
  EXPECT_TRUE(throws_error(ErrorKind::kConfig, "'policy.data.advantage_tag' is 'b'",
                           [&] { load(kWhole, Step::kReturns, {"policy.data.advantage_tag=b"}); }));
  const RecapConfig c = load(kWhole, std::nullopt, {"tag=", "returns.data.tag=r", "policy.data.advantage_tag=p"});
  EXPECT_EQ(c.value.data.tag, "r");
  EXPECT_EQ(c.advantages.advantage.returns_tag, "r");
  EXPECT_EQ(c.advantages.advantage.tag, "p");
}

TEST_F(Config, BadValuesAreListedAtOnce) {
  const auto bad = [&](Step step, const std::vector<std::string>& overrides, const std::string& part) {
    return throws_error(ErrorKind::kConfig, part, [&] { load(kWhole, step, overrides); });
  };
  EXPECT_TRUE(bad(Step::kReturns, {"data.train_data_paths.0.type=rolout"}, "unknown dataset type 'rolout'"));
  EXPECT_TRUE(bad(Step::kReturns, {"data.train_data_paths.0.type=rolout"}, "did you mean 'rollout'?"));
  EXPECT_TRUE(bad(Step::kReturns, {"data.dataset_type=demo"}, "unknown dataset type 'demo'"));
  EXPECT_TRUE(bad(Step::kReturns, {"data.failure_reward=.nan"}, "found NaN"));
  EXPECT_TRUE(bad(Step::kReturns, {"data.failure_reward=null"}, "expected a number, found null"));
  EXPECT_TRUE(bad(Step::kReturns, {"data.gamma=1.5", "data.tag=a/b"}, "data.gamma"));
  EXPECT_TRUE(bad(Step::kReturns, {"tag=a/b"}, "a tag is part of a file name"));
  EXPECT_TRUE(bad(Step::kReturns, {"data.train_data_paths=[]"}, "expected datasets, found none"));
  EXPECT_TRUE(bad(Step::kReturns, {"data.train_data_pathes=[]"}, "did you mean 'data.train_data_paths'?"));
  EXPECT_TRUE(bad(Step::kValue, {"data.eval_data_paths=[]"}, "no dataset to validate on is given"));
  EXPECT_TRUE(bad(Step::kValue, {"data.normalize_to_minus_one_zero=false"}, "the bins cover [-1, 0]"));
  EXPECT_TRUE(bad(Step::kValue, {"actor.global_batch_size=33"}, "expected a multiple"));
  EXPECT_TRUE(bad(Step::kAdvantages, {"advantage.positive_quantile=1"}, "between 0 and 1"));
  EXPECT_TRUE(bad(Step::kPolicy, {"actor.model.openpi.guidance_type=negative"}, "never trained with their label"));
  EXPECT_TRUE(bad(Step::kPolicy, {"actor.model.openpi.cfgrl_guidance_scale=big"}, "expected a number, found 'big'"));
  EXPECT_TRUE(bad(Step::kPolicy, {"actor.model.openpi.cfgrl_guidance_scale=.nan"}, "found NaN"));
}

TEST(DatasetEntryName, IsTheLastFolder) {
  EXPECT_EQ((DatasetEntry{.dataset_path = "/a/libero_sft/"}).shown_name(), "libero_sft");
  EXPECT_EQ((DatasetEntry{.dataset_path = "a"}).shown_name(), "a");
  EXPECT_EQ((DatasetEntry{.dataset_path = "/a/b", .name = "c"}).shown_name(), "c");
}

}  // namespace
}  // namespace flexor::recap
