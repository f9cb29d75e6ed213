#include "recap/value_step.h"

#include <fstream>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "recap/recap_fixture.h"
#include "recap/returns_step.h"
#include "recap/value_checkpoint.h"
#include "recap/value_data.h"
#include "recap/value_estimator.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

/// A tiny value model on two small datasets of which one holds failures.
class ValueStepTest : public RecapFolder {
 protected:
  void SetUp() override {
    RecapFolder::SetUp();
    sft_ = copy_of("data/datasets/v21_h264", "sft");
    rollout_ = copy_of("data/datasets/v30_small", "rollout");
    compute_returns(load_recap_config({.files = {}, .overrides = keys("returns", {})}, std::nullopt));
  }

  std::vector<std::string> keys(const std::string& run, const std::vector<std::string>& more) const {
    std::vector<std::string> all = {
        "output_dir=" + folder_ + "/" + run,
        "tag=t",
        "threads=1",
        str_cat("data={train_data_paths: [{dataset_path: ", sft_, ", type: sft}, {dataset_path: ", rollout_,
                ", type: rollout, weight: 0.5}], failure_reward: -20, robot_type: auto}"),
        str_cat("value.data.eval_data_paths=[{dataset_path: ", rollout_, ", name: held, type: eval, max_samples: 7}]"),
        "value.data.num_workers=0",
        "value.runner.max_steps=6",
        "value.runner.val_check_interval=2",
        "value.runner.save_interval=4",
        "value.runner.log_interval=1",
        "value.actor.micro_batch_size=2",
        "value.actor.global_batch_size=4",
        "value.actor.optim={lr: 0.001, value_lr: 0.002, lr_warmup_steps: 0, total_training_steps: 6}",
        "value.actor.model.precision=fp32",
        "value.actor.model.num_bins=21",
        "value.actor.model.max_token_len=24",
        "value.actor.model.tokenizer_path=" + testing::tests_path("data/tokenizer/tokenizer_512.model"),
        "value.actor.model.architecture={image_size: 28, vision: {width: 16, depth: 1, num_heads: 2, mlp_dim: 16, "
        "patch_size: 14}, gemma3: {vocab_size: 512, width: 16, depth: 3, mlp_dim: 16, num_heads: 2, num_kv_heads: 1, "
        "head_dim: 8, query_pre_attn_scalar: 8, full_layers: [2]}, expert: {width: 8, depth: 2, mlp_dim: 16, "
        "num_heads: 1, num_kv_heads: 1, head_dim: 8}}"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  RecapConfig config(const std::string& run, const std::vector<std::string>& more = {}) const {
    return load_recap_config({.files = {}, .overrides = keys(run, more)}, std::nullopt);
  }
  std::vector<Json> rows(const std::string& run) const {
    std::vector<Json> result;
    const std::string path = folder_ + "/" + run + "/value/metrics.jsonl";
    for (const std::string& line : split_text(read_file(path), '\n')) {
      if (!line.empty()) {
        result.push_back(Json::parse(line, path));
      }
    }
    return result;
  }
  std::map<std::string, Tensor> weights(const std::string& checkpoint) const {
    return SafetensorsFile::open(checkpoint + "/model.safetensors").read_all();
  }

  std::string sft_, rollout_;
};

TEST_F(ValueStepTest, TrainsValidatesAndKeepsBestAndLast) {
  const ValueReport report = train_value(config("a"));
  EXPECT_EQ(report.steps, 6);
  EXPECT_TRUE(report.checkpoint.ends_with("global_step_6"));
  EXPECT_TRUE(std::isfinite(report.final_loss));
  int train_rows = 0, eval_rows = 0;
  double best = 1e9;
  int64_t best_step = -1;
  for (const Json& row : rows("a")) {
    if (row.find("eval/held/loss") != nullptr) {
      ++eval_rows;
      EXPECT_EQ(row.at("eval/loss"), row.at("eval/held/loss"));
      EXPECT_NE(row.find("eval/value_spearman_tied"), nullptr);
      if (row.at("eval/loss").as_double() < best) {
        best = row.at("eval/loss").as_double();
        best_step = row.at("step").as_int();
      }
    } else {
      ++train_rows;
      for (const char* name :
           {"loss", "mae", "cat_acc_best", "cat_acc_neighbor", "predicted_value_mean", "predicted_value_std",
            "target_value_mean", "target_value_std", "value_spearman", "grad_norm", "lr"}) {
        EXPECT_NE(row.find(name), nullptr) << name;
      }
      EXPECT_DOUBLE_EQ(row.at("lr").as_double(), 0.001);
    }
  }
  EXPECT_EQ(train_rows, 6);
  EXPECT_EQ(eval_rows, 3);
  EXPECT_EQ(report.best_step, best_step);
  const ValueRun run(folder_ + "/a");
  EXPECT_EQ(run.best(), std::filesystem::canonical(run.checkpoint(best_step)).string());
  EXPECT_TRUE(std::filesystem::exists(run.checkpoint(4)));
  EXPECT_EQ(*run.newest(), run.checkpoint(6));
}

TEST_F(ValueStepTest, AResumedRunEndsWithTheSameBits) {
  const ValueReport whole = train_value(config("whole"));
  train_value(config("parts", {"value.runner.max_steps=4"}));
  const ValueReport parts = train_value(config("parts", {"value.runner.resume_dir=auto"}));
  EXPECT_EQ(parts.steps, 6);
  const auto a = weights(whole.checkpoint), b = weights(parts.checkpoint);
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    EXPECT_TRUE(at::equal(tensor, b.at(name))) << name;
  }
  EXPECT_EQ(rows("whole").size(), rows("parts").size());
  EXPECT_TRUE(throws_error(ErrorKind::kConfig, "actor.optim.lr", [&] {
    train_value(config("parts", {"value.runner.resume_dir=auto", "value.actor.optim.lr=0.5"}));
  }));
}

TEST_F(ValueStepTest, AValidationThatASignalPreventedIsMadeUpFor) {
  train_value(config("whole"));
  train_value(config("cut", {"value.runner.max_steps=4"}));
  const ValueRun cut(folder_ + "/cut");
  const std::string path = cut.state_file(cut.checkpoint(4));
  Json state = Json::read_file(path);
  EXPECT_EQ(state.find("validation_due"), nullptr);
  state["validation_due"] = true;
  write_file_atomic(path, state.dump());
  std::string kept;  // the rows without that of step 4's validation
  for (const Json& row : rows("cut")) {
    const bool is_lost = row.at("step").as_int() == 4 && row.find("eval/loss") != nullptr;
    kept += is_lost ? "" : row.dump() + "\n";
  }
  write_file_atomic(cut.folder() + "/metrics.jsonl", kept);
  train_value(config("cut", {"value.runner.resume_dir=auto"}));
  const std::vector<Json> a = rows("whole"), b = rows("cut");
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].at("step"), b[i].at("step"));
    const Json *expected = a[i].find("eval/loss"), *found = b[i].find("eval/loss");
    ASSERT_EQ(expected == nullptr, found == nullptr);
    EXPECT_TRUE(found == nullptr || *expected == *found);
  }
  const Json last = Json::read_file(cut.state_file(cut.checkpoint(6)));
  EXPECT_EQ(last.find("validation_due"), nullptr);
}

TEST_F(ValueStepTest, AnIncompleteCheckpointIsPassedOver) {
  const ValueReport report = train_value(config("a", {"value.runner.val_check_interval=-1"}));
  const ValueRun run(folder_ + "/a");
  const auto before = weights(report.checkpoint);
  for (const char* name : {"model.safetensors", "config.json", "training_state/optimizer_state.safetensors"}) {
    std::filesystem::remove(run.checkpoint(6) + "/" + name);
    EXPECT_EQ(*run.newest(), run.checkpoint(4)) << name;
    train_value(config("a", {"value.runner.val_check_interval=-1", "value.runner.resume_dir=auto"}));
    EXPECT_TRUE(at::equal(weights(run.checkpoint(6)).at("value_head.value_proj.weight"),
                          before.at("value_head.value_proj.weight")));
  }
  write_file_atomic(run.state_file(run.checkpoint(6)), "[]");
  EXPECT_TRUE(throws_error(ErrorKind::kCheckpoint, "this is not the state of a training: 'step' is missing", [&] {
    train_value(config("a", {"value.runner.val_check_interval=-1", "value.runner.resume_dir=auto"}));
  }));
}

TEST_F(ValueStepTest, AccumulatedMicroBatchesGiveTheStepOfOneBatch) {
  const std::vector<std::string> common = {"value.runner.max_steps=1", "value.runner.val_check_interval=-1",
                                           "value.data.do_augment=false"};
  auto large = common;
  large.push_back("value.actor.micro_batch_size=4");
  const ValueReport small = train_value(config("small", common)), one = train_value(config("one", large));
  const auto a = weights(small.checkpoint), b = weights(one.checkpoint);
  EXPECT_TENSOR_NEAR(a.at("value_head.value_proj.weight"), b.at("value_head.value_proj.weight"), 1e-4, 1e-5);
  EXPECT_EQ(small.best, one.best.substr(0, 0) + small.checkpoint) << "without validation the last one is the best";
}

TEST_F(ValueStepTest, CheckpointsSayWhatTheyAreAndJudgeFrames) {
  const RecapConfig c = config("a", {"value.runner.max_steps=1", "value.runner.val_check_interval=-1"});
  const ValueReport report = train_value(c);
  ValueEstimator estimator = ValueEstimator::open(report.checkpoint, ValueModelSection{});
  EXPECT_EQ(estimator.config().returns_tag, "t");
  EXPECT_EQ(estimator.config().num_bins, 21);
  EXPECT_LT(*estimator.config().return_min, -20.0);
  EXPECT_EQ(*estimator.config().return_max, 0.0);
  data::RawBatch raw;
  raw.tasks = {"reach the red cube", "reach"};
  raw.cameras.push_back({"top", at::full({2, 3, 28, 28}, 7, at::kByte)});
  const std::vector<float> values =
      estimator.values(estimator.prepare(raw, {{"base_0_rgb", "top"}, {"left_wrist_0_rgb", "w"}}));
  ASSERT_EQ(values.size(), 2U);
  EXPECT_TRUE(values[0] > -1.0F && values[0] < 0.0F);
  EXPECT_NE(values[0], values[1]);
}

TEST_F(ValueStepTest, BadInputIsOneClearErrorBeforeAnythingIsTrained) {
  const auto refused = [&](ErrorKind kind, const std::string& part, const std::vector<std::string>& more) {
    return throws_error(kind, part, [&] { train_value(config("bad", more)); });
  };
  EXPECT_TRUE(refused(ErrorKind::kFile, "returns_u", {"value.data.tag=u", "tag=u"}));
  EXPECT_TRUE(refused(ErrorKind::kData, "wrist_image", {"value.data.robot_type=libero"}) ||
              refused(ErrorKind::kData, "image", {"value.data.robot_type=libero"}));
  EXPECT_TRUE(refused(ErrorKind::kConfig, "robot_type", {"value.data.robot_type=spot"}));
  EXPECT_TRUE(refused(ErrorKind::kData, "micro batch",
                      {"value.actor.micro_batch_size=4000", "value.actor.global_batch_size=4000"}));
  EXPECT_TRUE(refused(ErrorKind::kFile, "no such", {"value.runner.resume_dir=/nowhere/global_step_1"}));
  EXPECT_TRUE(refused(ErrorKind::kConfig, "eval_data_paths", {"value.data.eval_data_paths=[]"}));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/bad/value/checkpoints"));
}

TEST_F(ValueStepTest, ANewRunReplacesAnEarlierOneButNothingElse) {
  const std::vector<std::string> short_run = {"value.runner.max_steps=1", "value.runner.val_check_interval=-1"};
  train_value(config("a", {"value.runner.val_check_interval=-1"}));
  const ValueReport second = train_value(config("a", short_run));
  EXPECT_EQ(*ValueRun(folder_ + "/a").newest(), second.checkpoint);
  write_file_atomic(folder_ + "/a/value/checkpoints/notes.txt", "mine");
  EXPECT_TRUE(throws_error(ErrorKind::kFile, "notes.txt", [&] { train_value(config("a", short_run)); }));
}

TEST(ChosenEpisodes, PercentagesTakeTheFirstOnesOrASeededChoice) {
  DatasetEntry entry;
  entry.episode_percentage = 30;
  const std::vector<int64_t> all = {3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  EXPECT_EQ(chosen_episodes(entry, all), (std::vector<int64_t>{3, 4, 5}));
  entry.episode_percentage = 1;
  EXPECT_EQ(chosen_episodes(entry, all).size(), 1U);
  entry.episode_percentage = 50;
  entry.shuffle_episodes = true;
  const auto chosen = chosen_episodes(entry, all);
  EXPECT_EQ(chosen.size(), 5U);
  EXPECT_EQ(chosen, chosen_episodes(entry, all));
  EXPECT_NE(chosen, (std::vector<int64_t>{3, 4, 5, 6, 7}));
}

}  // namespace
}  // namespace flexor::recap
