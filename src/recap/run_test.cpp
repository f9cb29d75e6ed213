#include "recap/run.h"

#include <map>

#include "base/file.h"
#include "base/text.h"
#include "recap/recap_fixture.h"
#include "recap/run_plan.h"
#include "recap/run_step.h"
#include "recap/stale_files.h"
#include "testing/sanitized.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

/// Steps 1 to 3 with a tiny value model on two small datasets of which one holds failures.
class Run : public RecapFolder {
 protected:
  void SetUp() override {
    RecapFolder::SetUp();
    sft_ = copy_of("data/datasets/v21_h264", "sft");
    rollout_ = copy_of("data/datasets/v30_small", "rollout");
  }

  RecapConfig config(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {
        "output_dir=" + folder_ + "/out",
        "tag=t",
        "threads=1",
        str_cat("data={train_data_paths: [{dataset_path: ", sft_, ", type: sft}, {dataset_path: ", rollout_,
                ", type: rollout}], failure_reward: -20, robot_type: auto, num_workers: 0}"),
        "value.runner={max_steps: 4, save_interval: 2, log_interval: 0, val_check_interval: -1}",
        "value.actor={micro_batch_size: 2, global_batch_size: 2, optim: {lr: 0.001, lr_warmup_steps: 0}, "
        "steam: {k: 4, num_bins: 4, ensemble_size: 2, projection_dim: 8}}",
        "value.actor.model.precision=fp32",
        "value.actor.model.num_bins=21",
        "value.actor.model.max_token_len=24",
        "value.actor.model.tokenizer_path=" + testing::tests_path("data/tokenizer/tokenizer_512.model"),
        "value.actor.model.architecture={image_size: 14, vision: {width: 8, depth: 1, num_heads: 1, mlp_dim: 8, "
        "patch_size: 14}, gemma3: {vocab_size: 512, width: 8, depth: 2, mlp_dim: 8, num_heads: 1, num_kv_heads: 1, "
        "head_dim: 8, query_pre_attn_scalar: 8, full_layers: [1]}, expert: {width: 8, depth: 1, mlp_dim: 8, "
        "num_heads: 1, num_kv_heads: 1, head_dim: 8}}",
        "advantages.advantage={batch_size: 64, num_dataloader_workers_per_gpu: 0, model: {precision: fp32}}"};
    all.insert(all.end(), more.begin(), more.end());
    return load_recap_config({.files = {}, .overrides = all}, std::nullopt);
  }

  /// A tiny policy for step 4.
  static std::vector<std::string> with_policy(const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = {
        "policy.runner={max_steps: 3, save_interval: 2, log_interval: 0, val_check_interval: -1}",
        "policy.actor={micro_batch_size: 2, global_batch_size: 2, optim: {lr: 0.001, lr_scheduler: constant, "
        "lr_warmup_steps: 0}}",
        "policy.actor.model={action_horizon: 5, image_resolution: [14, 14], openpi: {config_name: auto}, "
        "architecture: {vision: {width: 8, depth: 1, num_heads: 1, mlp_dim: 8, patch_size: 14}, paligemma: {width: 8, "
        "depth: 1, mlp_dim: 8, num_heads: 1, num_kv_heads: 1, head_dim: 8}, action_expert: {width: 8, depth: 1, "
        "mlp_dim: 8, num_heads: 1, num_kv_heads: 1, head_dim: 8}}}",
        "policy.actor.model.tokenizer_path=" + testing::tests_path("data/tokenizer/tokenizer_512.model")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  /// "ran skipped ...", of steps 1 to 3.
  std::string results(const std::vector<std::string>& more = {}, RunOptions options = {}) {
    options.to = std::min(options.to, Step::kAdvantages);
    rows_ = RecapRun(config(more), options).run();
    std::vector<std::string> words;
    for (const StepRow& row : rows_) {
      words.push_back(row.result);
    }
    words.pop_back();  // policy
    return join_text(words, ", ");
  }
  std::string why(Step step) const { return rows_[static_cast<size_t>(step)].why; }
  /// Bytes of all that the steps made.
  std::map<std::string, std::string> made() const {
    std::map<std::string, std::string> files;
    for (const std::string& path :
         {sft_ + "/meta/returns_t.parquet", rollout_ + "/meta/advantages_t.parquet",
          rollout_ + "/meta/mixture_config.yaml", folder_ + "/out/value/checkpoints/last/model.safetensors"}) {
      files[path] = read_file(path);
    }
    return files;
  }
  std::string checkpoints() const { return folder_ + "/out/value/checkpoints"; }
  void set_status(const std::string& step, const std::string& status) const {
    const std::string path = folder_ + "/out/recap_run.json";
    Json state = Json::read_file(path);
    state["steps"][step]["status"] = status;
    write_file_atomic(path, state.dump());
  }

  std::string sft_, rollout_;
  std::vector<StepRow> rows_;
};

TEST_F(Run, SkipsWhatIsDone) {
  EXPECT_EQ(results(), "ran, ran, ran");
  EXPECT_EQ(why(Step::kValue), "never ran");
  EXPECT_EQ(rows_[3].result, "not asked for");
  EXPECT_EQ(shown_result(Step::kReturns, rows_[0].made), "2 datasets, 12 episodes, 10 successes");
  EXPECT_NE(shown_result(Step::kValue, rows_[1].made).find("global_step_4, loss "), std::string::npos);
  const auto before = made();
  EXPECT_EQ(results({"threads=2", "value.runner.log_interval=1"}), "skipped, skipped, skipped");
  EXPECT_EQ(shown_result(Step::kReturns, rows_[0].made), "2 datasets, 12 episodes, 10 successes");
  EXPECT_EQ(made(), before);
  const RecapConfig stored =
      load_recap_config({.files = {folder_ + "/out/config.yaml"}, .overrides = {}}, std::nullopt);
  EXPECT_EQ(stored.value.actor.model.num_bins, 21);
  EXPECT_EQ(results({}, {.force = true}), "ran, ran, ran");
  EXPECT_EQ(why(Step::kReturns), "--force");
  EXPECT_EQ(made(), before);
}

TEST_F(Run, RepeatsWhatASettingChanges) {
  if (testing::is_sanitized()) {
    GTEST_SKIP() << "other cases run the same code";
  }
  results();
  EXPECT_EQ(results({"data.advantage_lookahead_step=3"}), "skipped, skipped, ran");
  EXPECT_EQ(why(Step::kAdvantages), "settings changed: data.advantage_lookahead_step was 10, is 3");
  EXPECT_EQ(results({"data.advantage_lookahead_step=3", "value.actor.optim.lr=0.01"}), "skipped, ran, ran");
  EXPECT_EQ(why(Step::kAdvantages), "input changed: value model");
  EXPECT_EQ(results({"data.failure_reward=-30"}), "ran, ran, ran");
  EXPECT_EQ(why(Step::kReturns), "settings changed: data.failure_reward was -20.0, is -30.0");
  EXPECT_TRUE(why(Step::kValue).starts_with("settings changed: actor.optim.lr"));
  EXPECT_FALSE(fs::exists(folder_ + "/out/value/superseded"));
}

TEST_F(Run, ATrainingThatMayTakeMoreStepsGoesOn) {
  if (testing::is_sanitized()) {
    GTEST_SKIP() << "other cases run the same code";
  }
  results({"value.runner.max_steps=8"});
  const auto whole = made();
  fs::remove_all(folder_ + "/out");
  results();
  EXPECT_EQ(results({"value.runner.max_steps=8"}), "skipped, resumed, ran");
  EXPECT_EQ(why(Step::kValue), "settings changed: runner.max_steps was 4, is 8");
  EXPECT_EQ(made(), whole);
  EXPECT_TRUE(fs::exists(checkpoints() + "/global_step_4")) << "it is of the same training";
  EXPECT_EQ(results({"value.runner.max_steps=8", "value.runner.max_epochs=-1"}), "skipped, resumed, skipped");
  EXPECT_EQ(results(), "skipped, ran, ran") << "fewer steps: anew";
  fs::remove_all(checkpoints() + "/global_step_4");
  EXPECT_EQ(results({"value.runner.max_steps=8"}), "skipped, ran, ran") << "not from a checkpoint that is not its own";
  EXPECT_EQ(made(), whole);
}

TEST_F(Run, ATrainingThatWasValidatedOutOfTurnStartsAnew) {
  const std::vector<std::string> validated = {
      str_cat("value.data.eval_data_paths=[{dataset_path: ", rollout_, ", type: eval, max_samples: 4}]"),
      "value.runner.val_check_interval=3"};
  const auto run = [&](const char* steps) {
    std::vector<std::string> more = validated;
    more.emplace_back(steps);
    results(more, {.to = Step::kValue});
    return rows_[1].result;
  };
  run("value.runner.max_steps=4");
  EXPECT_EQ(run("value.runner.max_steps=6"), "ran") << "step 4 may be the best one";
  EXPECT_EQ(run("value.runner.max_steps=8"), "resumed");
}

TEST_F(Run, RepeatsWhatChangedDataReach) {
  if (testing::is_sanitized()) {
    GTEST_SKIP() << "other cases run the same code";
  }
  results();
  const auto before = made();
  fs::copy_file(rollout_ + "/meta/returns_t.parquet", folder_ + "/kept");
  fs::remove(rollout_ + "/meta/returns_t.parquet");
  EXPECT_EQ(results(), "ran, skipped, skipped") << "the same returns again: later steps have nothing to do";
  EXPECT_EQ(why(Step::kReturns), "output is gone: " + rollout_ + "/meta/returns_t.parquet");

  std::string weights = read_file(checkpoints() + "/last/model.safetensors");
  weights[weights.size() - 1] ^= 1;
  write_file_atomic(fs::canonical(checkpoints() + "/last/model.safetensors").string(), weights);
  EXPECT_EQ(results(), "skipped, ran, skipped");
  EXPECT_TRUE(why(Step::kValue).starts_with("output changed: ")) << why(Step::kValue);
  EXPECT_EQ(made(), before);

  fs::remove_all(checkpoints() + "/global_step_2");
  fs::remove_all(checkpoints() + "/last/training_state");
  EXPECT_EQ(results(), "skipped, skipped, skipped") << "neither old checkpoints nor what resuming needs";

  write_file_atomic(sft_ + "/meta/advantages_t.parquet", "damaged");
  EXPECT_EQ(results(), "skipped, skipped, ran");
  EXPECT_EQ(made(), before);

  const std::string video = sft_ + "/videos/chunk-000/observation.images.top/episode_000000.mp4";
  fs::copy_file(sft_ + "/videos/chunk-000/observation.images.top/episode_000001.mp4", video,
                fs::copy_options::overwrite_existing);
  EXPECT_EQ(results(), "skipped, ran, ran");
  EXPECT_EQ(why(Step::kValue), "input changed: dataset " + sft_);
}

TEST_F(Run, StatisticsThatAreGoneAreWrittenAgain) {
  EXPECT_EQ(results({}, {.to = Step::kReturns}), "ran, not asked for, not asked for");
  const std::string stats = sft_ + "/meta/stats.json", info = sft_ + "/meta/info.json", before = read_file(stats);
  fs::remove(stats);
  EXPECT_EQ(results({}, {.to = Step::kReturns}), "ran, not asked for, not asked for");
  EXPECT_EQ(why(Step::kReturns), "output is gone: " + stats);
  EXPECT_EQ(read_file(stats), before);

  Json json = Json::read_file(info);
  json["features"].erase("prompt");
  json["codebase"] = "of another tool";
  write_file_atomic(info, json.dump());
  json = Json::read_file(stats);
  json["reward"]["min"] = -99.0;  // as step 1 of another tag
  json["action"] = Json::object();
  write_file_atomic(stats, json.dump());
  EXPECT_EQ(results({}, {.to = Step::kReturns}), "ran, not asked for, not asked for");
  EXPECT_EQ(why(Step::kReturns), "output is gone: " + info);
  write_file_atomic(stats, json.dump());
  EXPECT_EQ(results({}, {.to = Step::kReturns}), "skipped, not asked for, not asked for");
}

TEST(MetricsProblem, TellsWhatIsWrong) {
  const std::string folder = ::testing::TempDir() + "metrics_problem", file = folder + "/metrics.jsonl";
  fs::create_directories(folder);
  EXPECT_EQ(metrics_problem(folder), "is gone");
  write_file_atomic(file, "");
  EXPECT_EQ(metrics_problem(folder), "is empty");
  write_file_atomic(file, "{\"step\": 1, \"loss\": 2}\n{\"step\": 2, \"lo");
  EXPECT_EQ(metrics_problem(folder), "is incomplete");
  write_file_atomic(file, "{\"step\": 1, \"loss\": 2}\n");
  EXPECT_EQ(metrics_problem(folder), "");
  write_file_atomic(file, "junk\n{\"step\": 1, \"loss\": 2}\n");
  EXPECT_NE(metrics_problem(folder), "");
  fs::remove_all(folder);
}

TEST_F(Run, AnInterruptedTrainingGoesOnToTheSameBits) {
  results();
  const auto before = made();
  fs::remove_all(checkpoints() + "/global_step_4");
  fs::remove(checkpoints() + "/last");
  fs::create_directory_symlink("global_step_2", checkpoints() + "/last");
  set_status("value", "running");
  EXPECT_EQ(results(), "skipped, resumed, skipped");
  EXPECT_EQ(why(Step::kValue), "was interrupted");
  EXPECT_EQ(made(), before);
  set_status("value", "running");
  EXPECT_EQ(results(), "skipped, resumed, skipped") << "stopped behind the last checkpoint";
  EXPECT_EQ(made(), before);
  // With other settings it starts anew, whatever checkpoints are there.
  set_status("value", "running");
  EXPECT_EQ(results({"value.actor.seed=3"}), "skipped, ran, ran");
  EXPECT_NE(made(), before);
}

TEST_F(Run, CheckpointsOfAnEarlierTrainingAreNotContinued) {
  results();
  mark_stale(folder_ + "/out/value");  // killed after a new training was announced, before it removed the old one
  EXPECT_TRUE(has_stale(folder_ + "/out/value"));
  set_status("value", "running");
  results();
  EXPECT_FALSE(has_stale(folder_ + "/out/value"));
  EXPECT_EQ(Json::read_file(folder_ + "/out/recap_run.json").at("steps").at("value").at("made").at("steps").as_int(),
            4);
  const auto whole = made();
  mark_stale(folder_ + "/out/value");
  fs::remove_all(checkpoints() + "/global_step_2");
  EXPECT_TRUE(has_stale(folder_ + "/out/value")) << "one of them is left";
  const std::string list = folder_ + "/out/value/superseded", kept = read_file(list);
  for (const char* damaged : {"junk", "[1]", "{\"config.yaml\": \"x\"}"}) {
    write_file_atomic(list, damaged);
    EXPECT_TRUE(has_stale(folder_ + "/out/value")) << "it could list them all";
  }
  write_file_atomic(list, kept);
  fs::remove_all(checkpoints());
  EXPECT_FALSE(has_stale(folder_ + "/out/value"));
  set_status("value", "running");
  EXPECT_EQ(results(), "skipped, resumed, skipped") << "no checkpoint yet: from the start";
  EXPECT_EQ(made(), whole);
  EXPECT_FALSE(fs::exists(folder_ + "/out/value/superseded"));
}

TEST_F(Run, ValuesOfOtherSettingsAreNotTakenOver) {
  results();
  const std::string shards = sft_ + "/meta/advantages_t.shards";
  write_file_atomic(shards + "/plan.json", "{}");
  EXPECT_EQ(results({}, {.force = true}), "ran, ran, ran");
  EXPECT_FALSE(fs::exists(shards));
}

TEST_F(Run, FromAndToChooseTheSteps) {
  const auto fails = [&](const std::string& part, const std::vector<std::string>& more, Step from) {
    return throws_error(ErrorKind::kData, part, [&] { results(more, {.from = from}); });
  };
  EXPECT_TRUE(fails("needs step 'returns', which is not up to date: never ran", {}, Step::kValue));
  EXPECT_EQ(results({}, {.to = Step::kReturns}), "ran, not asked for, not asked for");
  EXPECT_EQ(results({}, {.from = Step::kValue}), "not asked for, ran, ran");
  EXPECT_EQ(results({}, {.from = Step::kAdvantages, .force = true}), "not asked for, not asked for, ran");
  EXPECT_TRUE(fails("step 'value', which is not up to date: settings changed: actor.seed was 0, is 1",
                    {"value.actor.seed=1"}, Step::kAdvantages));
  fs::remove(sft_ + "/meta/returns_t.parquet");
  EXPECT_TRUE(fails("step 'returns', which is not up to date: output is gone", {}, Step::kAdvantages));
}

TEST_F(Run, ListsAllProblemsBeforeTheFirstStep) {
  const auto refused = [&](ErrorKind kind, const std::string& part, const std::vector<std::string>& more) {
    return throws_error(kind, part, [&] { results(more); });
  };
  const std::vector<std::string> two = {"value.actor.model.tokenizer_path=/nowhere/t.model",
                                        "value.data.train_data_paths=[{dataset_path: /nowhere/d, type: sft}]"};
  EXPECT_TRUE(refused(ErrorKind::kFile, "/nowhere/t.model", two));
  EXPECT_TRUE(refused(ErrorKind::kFile, "/nowhere/d", two));
  EXPECT_TRUE(refused(ErrorKind::kConfig, "from", {"value.actor.model.architecture=null"}));
  EXPECT_TRUE(refused(ErrorKind::kData, "image", {"data.robot_type=libero"}));
  EXPECT_TRUE(refused(ErrorKind::kFile, "model.pt", {"advantages.advantage.value_checkpoint=/nowhere/model.pt"}));
  const std::string other = copy_of("data/datasets/v21_h264", "other");
  EXPECT_TRUE(refused(ErrorKind::kConfig,
                      str_cat("no step makes the returns of ", other, ", which value.data.eval_data_paths[0] needs"),
                      {str_cat("value.data.eval_data_paths=[{dataset_path: ", other, ", type: eval}]")}));
  EXPECT_TRUE(refused(ErrorKind::kConfig, "step 2 trains an ensemble, but step 3 labels with a value model",
                      {"value.actor.model.model_type=steam_value_model"}));
  EXPECT_FALSE(fs::exists(sft_ + "/meta/returns_t.parquet"));
  EXPECT_FALSE(fs::exists(folder_ + "/out"));
}

TEST_F(Run, EndsWithAPolicy) {
  const auto run = [this](const std::vector<std::string>& more, const RunOptions& options = {}) {
    std::vector<std::string> words;
    for (const StepRow& row : RecapRun(config(with_policy(more)), options).run()) {
      words.push_back(row.result);
    }
    return join_text(words, ", ");
  };
  EXPECT_EQ(run({}), "ran, ran, ran, ran");
  EXPECT_EQ(run({}), "skipped, skipped, skipped, skipped");
  const std::string weights = folder_ + "/out/policy/checkpoints/last/pretrained_model/model.safetensors";
  const std::string before = read_file(weights);
  EXPECT_EQ(run({"policy.actor.seed=3"}), "skipped, skipped, skipped, ran");
  EXPECT_NE(read_file(weights), before);
  EXPECT_EQ(run({}), "skipped, skipped, skipped, ran");
  EXPECT_EQ(read_file(weights), before);
  fs::remove_all(folder_ + "/out/policy/checkpoints/global_step_3");
  set_status("policy", "running");
  EXPECT_EQ(run({}, {.from = Step::kPolicy}), "not asked for, not asked for, not asked for, resumed");
  EXPECT_EQ(read_file(weights), before);
  EXPECT_EQ(run({"advantages.advantage.positive_quantile=0.6"}), "skipped, skipped, ran, ran");
}

TEST_F(Run, LabelsMustReachWhatThePolicyUses) {
  const auto refused = [&](ErrorKind kind, const std::string& part, const std::vector<std::string>& more) {
    return throws_error(kind, part, [&] { RecapRun(config(with_policy(more)), {}); });
  };
  EXPECT_TRUE(
      refused(ErrorKind::kConfig, "(episode, frame): (4, 0), (4, 1), (4, 2), (4, 3), (4, 4)",
              {str_cat("advantages.data.train_data_paths=[{dataset_path: ", sft_,
                       ", type: sft, episodes: [0, 1, 2, 3, 5]}, {dataset_path: ", rollout_, ", type: rollout}]")}));
  EXPECT_TRUE(refused(ErrorKind::kConfig, "step 3 labels only a part of what policy.data.train_data_paths[1]",
                      {str_cat("advantages.data.train_data_paths=[{dataset_path: ", sft_,
                               ", type: sft}, {dataset_path: ", rollout_, ", type: rollout, max_samples: 9}]")}));
  const std::string other = copy_of("data/datasets/v21_h264", "other");
  EXPECT_TRUE(refused(ErrorKind::kConfig,
                      str_cat("no step makes the advantages of ", other, ", which policy.data.val_data_paths[0] needs"),
                      {str_cat("policy.data.val_data_paths=[{dataset_path: ", other, "}]")}));
  EXPECT_TRUE(refused(ErrorKind::kFile, "/nowhere/norm_stats.json",
                      {"policy.actor.model.norm_stats=/nowhere/norm_stats.json"}));
  EXPECT_TRUE(refused(ErrorKind::kConfig, "architecture", {"policy.actor.model.architecture=null"}));
  EXPECT_FALSE(fs::exists(folder_ + "/out"));
}

TEST_F(Run, AStateThatIsNoneIsRefused) {
  write_file_atomic(folder_ + "/out/recap_run.json", "{\"format\": 99}");
  EXPECT_TRUE(throws_error(ErrorKind::kData, "expected format 1, found 99", [&] { results(); }));
  write_file_atomic(folder_ + "/out/recap_run.json",
                    R"({"format": 1, "files": {}, "steps": {"returns": {"status": "done", "seconds": 1, "settings": {},
                        "inputs": {}, "outputs": {}, "made": {"datasets": [{"episodes": 1}]}}}})");
  EXPECT_TRUE(throws_error(ErrorKind::kData, "the key 'successes' is missing", [&] { results(); }));
  fs::remove(folder_ + "/out/recap_run.json");
  write_file_atomic(folder_ + "/out/config.yaml", "steps: 3\n");
  EXPECT_TRUE(throws_error(ErrorKind::kConfig, "the folder holds another run", [&] { results(); }));
}

TEST_F(Run, OneAtATimeWorksInAFolder) {
  const RecapRun first(config(), {.to = Step::kAdvantages});
  EXPECT_TRUE(throws_error(ErrorKind::kFile, "another process is working in the folder", [&] { results(); }));
}

TEST_F(Run, SteamNeedsNoReturns) {
  const std::vector<std::string> steam = {"value.actor.model.model_type=steam_value_model",
                                          "advantages.advantage.method=steam"};
  EXPECT_EQ(results(steam), "not needed, ran, ran");
  EXPECT_EQ(results(steam, {.from = Step::kAdvantages}), "not needed, not asked for, skipped");
  EXPECT_FALSE(fs::exists(sft_ + "/meta/returns_t.parquet"));
}

TEST_F(Run, AGivenCheckpointNeedsNoTraining) {
  results({}, {.to = Step::kValue});
  const std::string kept = folder_ + "/kept";
  fs::copy(fs::canonical(checkpoints() + "/last"), kept, fs::copy_options::recursive);
  EXPECT_EQ(results({"advantages.advantage.value_checkpoint=" + kept}), "skipped, not needed, ran");
}

}  // namespace
}  // namespace flexor::recap
