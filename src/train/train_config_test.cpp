#include "train/train_config.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "config/print.h"
#include "testing/golden.h"
#include "train/run_folder.h"

namespace flexor::train {
namespace {

namespace fs = std::filesystem;
using flexor::testing::tests_path;

/// Text of the error that `work` throws; "" without.
template <typename Work>
std::string error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kConfig);
    return str_cat(error.what(), " ", error.where(), " ", error.hint());
  }
  return "";
}

TrainConfig load(std::vector<std::string> overrides, int64_t world = 1) {
  return load_train_config({{}, std::move(overrides)}, world);
}

const std::vector<std::string> kLeast = {"policy.type=pi05", "dataset.root=d", "output_dir=o"};
std::vector<std::string> least_and(std::vector<std::string> more) {
  more.insert(more.begin(), kLeast.begin(), kLeast.end());
  return more;
}

TEST(TrainConfig, TakesThePresetOfThePolicy) {
  const TrainConfig config = load(kLeast);
  EXPECT_DOUBLE_EQ(config.optimizer.lr, 2.5e-5);
  EXPECT_EQ(config.scheduler.decay_steps, 30000);
  EXPECT_EQ(config.policy.config.tokenizer_max_length, 200);
  EXPECT_EQ(load({"policy.type=pi0", "dataset.root=d", "output_dir=o"}).policy.config.tokenizer_max_length, 48);
}

TEST(TrainConfig, AliasesMeanTheSameAndMayNotDiffer) {
  EXPECT_DOUBLE_EQ(load(least_and({"policy.optimizer_lr=1e-4"})).optimizer.lr, 1e-4);
  EXPECT_DOUBLE_EQ(load(least_and({"optimizer.lr=1e-4"})).policy.config.optimizer_lr, 1e-4);
  const std::string text = error_of([] { load(least_and({"optimizer.lr=1e-4", "policy.optimizer_lr=1e-3"})); });
  EXPECT_NE(text.find("policy.optimizer_lr"), std::string::npos) << text;
}

TEST(TrainConfig, ListsAllProblemsAtOnce) {
  const std::string text =
      error_of([] { load({"policy.type=pi05", "batch_size=4", "global_batch_size=6", "eval_freq=10", "stepps=3"}); });
  for (const char* part : {"stepps", "steps", "global_batch_size", "eval_freq", "dataset.root", "output_dir"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
}

TEST(TrainConfig, RefusesNumbersThatMakeNoSense) {
  for (const char* key : {"ema.decay=1", "ema.decay=-0.1", "optimizer.eps=0", "optimizer.eps=nan", "optimizer.lr=-1",
                          "optimizer.lr=inf", "optimizer.betas=[1, 0.9]", "dataset.episodes=[-1]", "steps=0",
                          "policy.chunk_size=1e30", "policy.time_sampling_offset=0.5", "lora.r=0", "seed=-1"}) {
    const std::string text = error_of([&] { load(least_and({key})); });
    const std::string name = std::string(key).substr(0, std::string(key).find('='));
    EXPECT_NE(text.find("'" + name + "'"), std::string::npos) << key << ": " << text;
    EXPECT_EQ(text.find("problems"), std::string::npos) << text;
  }
}

TEST(TrainConfig, AWrongValueUnderAnotherNameIsOneProblem) {
  const std::string text = error_of([] { load(least_and({"policy.optimizer_betas=abc"})); });
  EXPECT_EQ(text.find("'policy.optimizer_betas': expected a list of 2"), 0U) << text;
}

TEST(TrainConfig, AccumulatesToTheGlobalBatch) {
  EXPECT_EQ(accumulation(load(least_and({"batch_size=4", "global_batch_size=16"})), 1), 4);
  EXPECT_EQ(accumulation(load(kLeast), 1), 1);
}

TEST(TrainConfig, NoStrategyIsForOneRank) {
  EXPECT_NE(error_of([] { load(kLeast, /*world=*/2); }).find("parallel.strategy"), std::string::npos);
}

TEST(TrainConfig, PrintedAndReadAgainIsTheSame) {
  const TrainConfig config = load(least_and({"optimizer.lr=3e-4", "rename_map={a: b}", "dataset.episodes=[1, 2]",
                                             "resume=false", "lora.enable=true", "lora.r=4"}));
  const std::string path = ::testing::TempDir() + "train_config_test.yaml";
  write_file_atomic(path, config::print(config));
  const TrainConfig again = load_train_config({{path}, {}}, 1);
  EXPECT_TRUE(config::differences(config::flatten(config), config::flatten(again)).empty());
  fs::remove(path);
}

TEST(TrainConfig, TakesTheBatchSizeFromABatchFile) {
  const std::string file = tests_path("golden/pi05_tiny/inputs.safetensors");
  EXPECT_EQ(load({"policy.type=pi05", "output_dir=o", "batch_file=" + file}).batch_size, 2);
}

class Recipes : public ::testing::TestWithParam<std::string> {};

TEST_P(Recipes, AreValid) {
  const std::string path = tests_path("../configs/" + GetParam());
  std::vector<std::string> overrides = {"dataset.root=d", "output_dir=o"};
  if (GetParam().find("base") != std::string::npos) {
    overrides.push_back("policy.path=" + tests_path("golden/" + GetParam().substr(0, GetParam().find('_')) + "_tiny"));
  }
  const TrainConfig config = load_train_config({{path}, overrides}, 1);
  EXPECT_TRUE(config.policy.path.empty() ? fs::exists(config.policy.tokenizer_path)
                                         : config.policy.config.dtype == "bfloat16");
}
INSTANTIATE_TEST_SUITE_P(Files, Recipes,
                         ::testing::Values("pi05_tiny.yaml", "pi0_tiny.yaml", "pi05_base.yaml", "pi0_base.yaml",
                                           "pi05_base_performance.yaml", "pi0_base_performance.yaml"),
                         [](const auto& test) { return test.param.substr(0, test.param.find('.')); });

class RunFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "run_folder_test";
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<std::string> keys(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"policy.type=pi05", "dataset.root=d", "output_dir=" + folder_});
    return more;
  }
  RunPlan plan(std::vector<std::string> more = {}) const { return plan_run({{}, keys(std::move(more))}, 1); }
  /// An empty folder that looks like a complete checkpoint.
  void make_checkpoint(const std::string& name, bool complete = true) const {
    const fs::path folder = fs::path(folder_) / "checkpoints" / name;
    fs::create_directories(folder / "pretrained_model");
    fs::copy(tests_path("golden/pi05_tiny/config.json"), folder / "pretrained_model" / "config.json");
    write_file_atomic((folder / "pretrained_model" / "model.safetensors").string(), "");
    write_file_atomic((folder / "training_state" / "optimizer_state.safetensors").string(), "");
    if (complete) {
      write_file_atomic((folder / "training_state" / "training_step.json").string(), "{}");
    }
  }
  std::string folder_;
};

TEST_F(RunFolder, ThatHasContentIsRefusedWithoutResume) {
  EXPECT_FALSE(plan().is_resumed);
  fs::create_directories(folder_);
  EXPECT_FALSE(plan().is_resumed);
  write_file_atomic(folder_ + "/x", "");
  EXPECT_NE(error_of([&] { plan(); }).find("resume=true"), std::string::npos);
}

TEST_F(RunFolder, WithoutCheckpointStartsAtTheBeginning) {
  start_run_folder(plan());
  const RunPlan again = plan({"resume=true"});
  EXPECT_TRUE(again.is_resumed);
  EXPECT_FALSE(again.checkpoint.has_value());
}

TEST_F(RunFolder, GoesOnFromTheNewestCompleteCheckpoint) {
  make_checkpoint("000099");
  make_checkpoint("000100");
  make_checkpoint("000200", /*complete=*/false);
  fs::create_directories(folder_ + "/checkpoints/000300.tmp.abc");
  const CheckpointSearch search = find_checkpoints(folder_);
  EXPECT_EQ(search.newest->step, 100);
  ASSERT_EQ(search.skipped.size(), 1U);
  EXPECT_NE(search.skipped[0].find("000200 lacks training_state/training_step.json"), std::string::npos);
}

TEST_F(RunFolder, OnlyLetsHarmlessKeysChange) {
  start_run_folder(plan({"steps=100"}));
  EXPECT_EQ(plan({"resume=true", "steps=200", "num_workers=4", "log_freq=1"}).schedule_steps, 200);
  EXPECT_EQ(plan({"resume=auto", "steps=50"}).schedule_steps, 100);  // a shorter run does not compress the schedule
  const std::string text = error_of([&] { plan({"resume=true", "steps=100", "seed=7", "optimizer.lr=1e-3"}); });
  for (const char* part : {"'seed' was 1000, now 7", "'optimizer.lr' was 2.5e-05, now 0.001"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST_F(RunFolder, ResumedByItsPathKeepsItsConfiguration) {
  start_run_folder(plan({"steps=100", "seed=5"}));
  const RunPlan again = plan_run({{}, {"resume=" + folder_, "steps=120"}}, 1);
  EXPECT_EQ(again.config.seed, 5);
  EXPECT_EQ(again.config.steps, 120);
  EXPECT_EQ(again.config.output_dir, folder_);
  EXPECT_NE(error_of([&] { plan_run({{}, {"resume=" + folder_, "seed=6"}}, 1); }).find("'seed' was 5, now 6"),
            std::string::npos);
}

TEST_F(RunFolder, WithOtherContentIsNotResumedInPlace) {
  write_file_atomic(folder_ + "/config.yaml.tmp.AbCdEf", "");  // of a run that was killed while it started
  EXPECT_FALSE(plan({"resume=true"}).is_resumed);
  write_file_atomic(folder_ + "/metrics.jsonl", "precious");
  EXPECT_NE(error_of([&] { plan({"resume=true"}); }).find("expected a run or an empty folder"), std::string::npos);
  EXPECT_NE(error_of([&] { plan({"resume=auto"}); }).find("expected a run or an empty folder"), std::string::npos);
}

TEST_F(RunFolder, ThatIsNoRunCannotBeResumed) {
  fs::create_directories(folder_);
  EXPECT_THROW(plan_run({{}, {"resume=" + folder_}}, 1), Error);
  EXPECT_THROW(plan_run({{}, {"resume=" + folder_ + "/none"}}, 1), Error);
}

TEST(CheckpointName, HasAsManyDigitsAsTheLastStep) {
  EXPECT_EQ(checkpoint_name(100, 2000), "000100");
  EXPECT_EQ(checkpoint_name(100, 20000000), "00000100");
}

}  // namespace
}  // namespace flexor::train
