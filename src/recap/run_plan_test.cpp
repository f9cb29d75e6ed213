#include "recap/run_plan.h"

#include "base/file.h"
#include "recap/recap_fixture.h"
#include "recap/run_settings.h"

namespace flexor::recap {
namespace {

RecapConfig config_with(const std::vector<std::string>& overrides) {
  std::vector<std::string> all = {"output_dir=out", "value.runner.val_check_interval=-1",
                                  "data={train_data_paths: [{dataset_path: a, type: sft}, "
                                  "{dataset_path: b, type: rollout}]}"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return load_recap_config({.files = {}, .overrides = all}, std::nullopt);
}

/// Names of the steps whose settings another value of a key changes.
std::string changed_by(const std::string& override) {
  std::string names;
  for (const Step step : {Step::kReturns, Step::kValue, Step::kAdvantages, Step::kPolicy}) {
    if (!(settings_of_step(config_with({}), step) == settings_of_step(config_with({override}), step))) {
      names += std::string(names.empty() ? "" : " ") + std::string(step_name(step));
    }
  }
  return names;
}

TEST(StepSettings, AreWhatTheStepReads) {
  EXPECT_EQ(changed_by("data.failure_reward=-50"), "returns");
  EXPECT_EQ(changed_by("data.gamma=0.9"), "returns advantages");
  EXPECT_EQ(changed_by("data.advantage_lookahead_step=3"), "advantages");
  EXPECT_EQ(changed_by("data.train_data_paths.1.weight=2"), "value advantages policy");
  EXPECT_EQ(changed_by("data.train_data_paths.1.success_episodes=[1]"), "returns value advantages policy");
  EXPECT_EQ(changed_by("data.robot_type=auto"), "value advantages policy");
  EXPECT_EQ(changed_by("value.actor.optim.lr=0.5"), "value");
  EXPECT_EQ(changed_by("value.runner.max_steps=3"), "value");
  EXPECT_EQ(changed_by("advantages.advantage.positive_quantile=0.5"), "advantages");
  EXPECT_EQ(changed_by("policy.actor.seed=4"), "policy");
  EXPECT_EQ(changed_by("tag=x"), "returns value advantages policy");
}

TEST(StepSettings, LeaveOutWhatOnlyChangesSpeedOrLogs) {
  for (const char* key :
       {"threads=3", "data.num_workers=3", "data.prefetch_factor=3", "value.runner.log_interval=3",
        "value.runner.resume_dir=auto", "policy.runner.resume_dir=auto",
        "value.actor.fsdp_config.gradient_checkpointing=true", "advantages.advantage.flush_interval=3",
        "advantages.advantage.prefetch_factor=3", "advantages.advantage.num_dataloader_workers_per_gpu=3"}) {
    EXPECT_EQ(changed_by(key), "") << key;
  }
}

TEST(FirstDifference, NamesTheKeyAndBothValues) {
  const Json a = Json::parse(R"({"x": {"y": [1, {"z": 2}]}})", ""),
             b = Json::parse(R"({"x": {"y": [1, {"z": 3}]}})", "");
  EXPECT_EQ(first_difference(a, b, ""), "x.y[1].z was 2, is 3");
  EXPECT_EQ(first_difference(a, a, ""), std::nullopt);
  EXPECT_EQ(first_difference(Json::parse(R"({"x": 1})", ""), Json::parse(R"({"x": 1, "n": "t"})", ""), ""),
            "n was null, is \"t\"");
}

class PlanOfFiles : public RecapFolder {
 protected:
  RecapConfig config() const {
    return load_recap_config(
        {.files = {},
         .overrides = {"output_dir=" + folder_ + "/out", "tag=t", "value.runner.val_check_interval=-1",
                       str_cat("data={train_data_paths: [{dataset_path: ", folder_, "/a, type: sft}]}")}},
        std::nullopt);
  }
  std::string why(const StepPlan& before, Step step) const {
    FileHashes hashes;
    return why_changed(before, plan_step(config(), step, hashes)).value_or("");
  }
};

TEST_F(PlanOfFiles, ChangesWithWhatTheStepReads) {
  const std::string root = copy_of("data/datasets/v21_h264", "a");
  FileHashes hashes;
  const StepPlan returns = plan_step(config(), Step::kReturns, hashes),
                 value = plan_step(config(), Step::kValue, hashes), policy = plan_step(config(), Step::kPolicy, hashes);
  EXPECT_EQ(why(returns, Step::kReturns), "");

  Json stats = Json::object();
  stats["return"] = Json::object({{"min", -5.0}});
  write_file_atomic(root + "/meta/stats.json", stats.dump());  // as step 1 of another tag does
  Json info = Json::read_file(root + "/meta/info.json");
  info["features"]["return"] = Json::object();
  write_file_atomic(root + "/meta/info.json", info.dump());
  write_file_atomic(root + "/meta/returns_other.parquet", "x");
  write_file_atomic(root + "/meta/mixture_config.yaml", "x");
  EXPECT_EQ(why(returns, Step::kReturns), "");
  EXPECT_EQ(why(value, Step::kValue), "");
  EXPECT_EQ(why(policy, Step::kPolicy), "") << "there were no statistics before: none but those of step 1 are the same";

  write_file_atomic(root + "/meta/returns_t.parquet", "x");
  EXPECT_EQ(why(value, Step::kValue), "input changed: returns " + root + "/meta/returns_t.parquet");
  std::filesystem::remove(root + "/meta/returns_t.parquet");

  stats["action"] = Json::object({{"min", -5.0}});
  write_file_atomic(root + "/meta/stats.json", stats.dump());
  EXPECT_EQ(why(value, Step::kValue), "") << "the value model reads no statistics";
  EXPECT_EQ(why(policy, Step::kPolicy), "input changed: dataset " + root);

  const std::string video = root + "/videos/chunk-000/observation.images.top/episode_000000.mp4";
  std::string bytes = read_file(video);
  bytes[bytes.size() / 2] ^= 1;
  write_file_atomic(video, bytes);
  EXPECT_EQ(why(returns, Step::kReturns), "");
  EXPECT_EQ(why(value, Step::kValue), "input changed: dataset " + root);
}

}  // namespace
}  // namespace flexor::recap
