#include "recap/policy_step.h"

#include <cmath>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "data/tokenizer.h"
#include "policy/policy.h"
#include "recap/advantages.h"
#include "recap/policy_checkpoint.h"
#include "recap/recap_fixture.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "testing/sanitized.h"

namespace flexor::recap {
namespace {

class PolicyStepTest : public RecapFolder {
 protected:
  void SetUp() override {
    RecapFolder::SetUp();
    sft_ = copy_of("data/datasets/v21_h264", "sft");
    rollout_ = copy_of("data/datasets/v30_small", "rollout");
    label(sft_, "t", [](int64_t) { return true; });
    label(rollout_, "t", [](int64_t frame) { return frame % 3 == 0; });
  }

  /// Writes meta/advantages_TAG.parquet of all frames but the last `left_out`.
  template <typename Rule>
  void label(const std::string& root, const std::string& tag, const Rule& is_positive, int64_t left_out = 0) const {
    const data::Dataset dataset = open_dataset(root);
    AdvantageRows rows;
    for (int64_t p = 0; p < dataset.num_frames() - left_out; ++p) {
      const auto id = dataset.frame_id(p);
      rows.episode_index.push_back(id.episode_index);
      rows.frame_index.push_back(id.frame_index);
      rows.advantage.push_back(is_positive(id.frame_index) ? 1 : 0);
      rows.num_valid_rewards.push_back(1);
    }
    rows.advantage_continuous = rows.returns = rows.value_current = rows.value_next = rows.reward_sum =
        rows.reward_sum_raw = std::vector<double>(rows.size(), 0.0);
    write_advantages(str_cat(root, "/meta/", sidecar_name("advantages", tag)), rows, "d", Json::object());
  }

  std::vector<std::string> keys(const std::string& run, const std::vector<std::string>& more) const {
    std::vector<std::string> all = {
        "output_dir=" + folder_ + "/" + run,
        "tag=t",
        "threads=1",
        str_cat("data={train_data_paths: [{dataset_path: ", sft_,
                ", type: sft, episodes: [0, 1, 2, 3]}, {dataset_path: ", rollout_,
                ", type: rollout, weight: 0.5}], robot_type: auto}"),
        str_cat("policy.data.val_data_paths=[{dataset_path: ", sft_,
                ", name: held, episodes: [4, 5], max_samples: 5}]"),
        "policy.data.num_workers=0",
        "policy.runner={max_steps: 6, val_check_interval: 2, save_interval: 4, log_interval: 1}",
        "policy.actor.micro_batch_size=2",
        "policy.actor.global_batch_size=4",
        "policy.actor.ema.enable=true",
        "policy.actor.optim={lr: 0.001, lr_scheduler: constant, lr_warmup_steps: 0, total_training_steps: 6}",
        "policy.actor.model.openpi={config_name: auto, unconditional_prob: 0.3, positive_only_conditional: false}",
        "policy.actor.model.action_horizon=5",
        "policy.actor.model.tokenizer_path=" + testing::tests_path("data/tokenizer/tokenizer_512.model"),
        "policy.actor.model.image_resolution=[28, 28]",
        "policy.actor.model.architecture={vision: {width: 16, depth: 1, num_heads: 2, mlp_dim: 16, patch_size: 14}, "
        "paligemma: {width: 16, depth: 2, mlp_dim: 16, num_heads: 2, num_kv_heads: 1, head_dim: 8}, "
        "action_expert: {width: 16, depth: 2, mlp_dim: 16, num_heads: 2, num_kv_heads: 1, head_dim: 8}}"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  RecapConfig config(const std::string& run, const std::vector<std::string>& more = {}) const {
    return load_recap_config({.files = {}, .overrides = keys(run, more)}, Step::kPolicy);
  }
  std::vector<Json> rows(const std::string& run) const {
    std::vector<Json> result;
    const std::string path = folder_ + "/" + run + "/policy/metrics.jsonl";
    for (const std::string& line : split_text(read_file(path), '\n')) {
      if (!line.empty()) {
        result.push_back(Json::parse(line, path));
      }
    }
    return result;
  }
  /// The last row with this key.
  Json last_row(const std::string& run, const std::string& key) const {
    Json found;
    for (const Json& row : rows(run)) {
      found = row.find(key) != nullptr ? row : found;
    }
    return found;
  }
  static std::map<std::string, Tensor> tensors(const std::string& file) {
    return SafetensorsFile::open(file).read_all();
  }
  static void expect_equal(const std::string& a, const std::string& b) {
    const auto left = tensors(a), right = tensors(b);
    ASSERT_EQ(left.size(), right.size());
    for (const auto& [name, tensor] : left) {
      if (name != "elapsed_s") {
        EXPECT_TRUE(at::equal(tensor, right.at(name))) << name;
      }
    }
  }
  ::testing::AssertionResult refused(ErrorKind kind, const std::string& part,
                                     const std::vector<std::string>& more) const {
    return throws_error(kind, part, [&] { train_policy(config("bad", more)); });
  }

  std::string sft_, rollout_;
};

TEST_F(PolicyStepTest, TrainsValidatesByLabelAndKeepsBestAndLast) {
  const PolicyReport report = train_policy(config("a"));
  EXPECT_EQ(report.steps, 6);
  EXPECT_TRUE(report.checkpoint.ends_with("global_step_6"));
  int train_rows = 0, eval_rows = 0;
  for (const Json& row : rows("a")) {
    if (row.find("eval/loss") != nullptr) {
      ++eval_rows;
      for (const char* name : {"eval/positive_loss", "eval/unconditional_loss", "eval/held/positive_loss",
                               "eval/unconditional_loss_real_dims"}) {
        EXPECT_NE(row.find(name), nullptr) << name;
      }
      EXPECT_EQ(row.find("eval/negative_loss"), nullptr) << "a demonstration has no negative frame";
      EXPECT_EQ(row.at("eval/loss"), row.at("eval/positive_loss"));
    } else {
      ++train_rows;
      for (const char* name : {"loss", "learning_rate", "grad_norm", "lr", "conditional_ratio", "unconditional_ratio",
                               "positive_label_ratio", "negative_label_ratio", "loss_real_dims"}) {
        EXPECT_NE(row.find(name), nullptr) << name;
      }
      EXPECT_DOUBLE_EQ(row.at("learning_rate").as_double(), 0.001);
      EXPECT_DOUBLE_EQ(row.at("conditional_ratio").as_double() + row.at("unconditional_ratio").as_double(), 1.0);
    }
  }
  EXPECT_EQ(train_rows, 6);
  EXPECT_EQ(eval_rows, 4) << "before the first step, too";
  const PolicyRun run(folder_ + "/a");
  EXPECT_EQ(run.best(), std::filesystem::canonical(run.checkpoint(report.best_step)).string());
  EXPECT_TRUE(std::filesystem::exists(run.checkpoint(4)));
  EXPECT_EQ(*run.newest(), run.checkpoint(6));
}

TEST_F(PolicyStepTest, ACheckpointIsAPolicyThatSaysHowItWasTrained) {
  const PolicyReport report =
      train_policy(config("a", {"policy.runner.max_steps=1", "policy.runner.val_check_interval=-1"}));
  for (const char* folder : {"/pretrained_model", "/pretrained_model_ema"}) {
    policy::Policy opened = policy::Policy::open(report.checkpoint + folder);
    EXPECT_EQ(opened.config().chunk_size, 5);
    EXPECT_EQ(opened.config().num_inference_steps, 5);
    EXPECT_EQ(opened.processor().config().prompt, data::PromptStyle::kState);
    const Json facts = Json::read_file(report.checkpoint + folder + "/flexor_recap.json");
    EXPECT_FALSE(facts.at("positive_only_conditional").as_bool());
    EXPECT_EQ(facts.at("advantage_tag").as_string(), "t");
    EXPECT_EQ(facts.at("norm_stats_sha256").as_string().size(), 64U);
  }
}

TEST_F(PolicyStepTest, AResumedRunEndsWithTheSameBits) {
  for (const std::string precision : {"fp32", "bf16"}) {
    if (testing::is_sanitized() && precision == "bf16") {
      continue;
    }
    const std::vector<std::string> common = {"policy.actor.model.precision=" + precision};
    const std::vector<std::string> first = {common[0], "policy.runner.max_steps=3"};
    const std::vector<std::string> second = {common[0], "policy.runner.resume_dir=auto"};
    const std::string whole_name = "whole_" + precision, parts_name = "parts_" + precision;
    const PolicyReport whole = train_policy(config(whole_name, common));
    train_policy(config(parts_name, first));
    const PolicyReport parts = train_policy(config(parts_name, second));
    EXPECT_EQ(parts.steps, 6);
    EXPECT_EQ(parts.best_step, whole.best_step);
    for (const char* file : {"/pretrained_model/model.safetensors", "/pretrained_model_ema/model.safetensors",
                             "/training_state/optimizer_state.safetensors", "/training_state/flexor_ema.safetensors",
                             "/training_state/flexor_state.safetensors"}) {
      expect_equal(whole.checkpoint + file, parts.checkpoint + file);
    }
    const bool has_masters = std::filesystem::exists(parts.checkpoint + "/training_state/flexor_masters.safetensors");
    EXPECT_EQ(has_masters, precision == "bf16");
  }
  EXPECT_TRUE(throws_error(ErrorKind::kConfig, "actor.optim.lr", [&] {
    train_policy(config("parts_fp32", {"policy.actor.model.precision=fp32", "policy.runner.resume_dir=auto",
                                       "policy.actor.optim.lr=0.5"}));
  }));
  label(rollout_, "t", [](int64_t) { return false; });
  EXPECT_TRUE(throws_error(ErrorKind::kData, "the labels are not those", [&] {
    train_policy(config("parts_fp32", {"policy.actor.model.precision=fp32", "policy.runner.resume_dir=auto"}));
  }));
}

TEST_F(PolicyStepTest, LabelsOnlyEnterThroughRoutedPrompts) {
  const std::vector<std::string> none = {"policy.runner.max_steps=2", "policy.runner.val_check_interval=-1",
                                         "policy.actor.model.openpi.unconditional_prob=1"};
  const PolicyReport a = train_policy(config("a", none));
  label(rollout_, "u", [](int64_t) { return true; });
  label(sft_, "u", [](int64_t) { return false; });
  auto other = none;
  other.emplace_back("tag=u");
  const PolicyReport b = train_policy(config("b", other));
  expect_equal(a.checkpoint + "/pretrained_model/model.safetensors",
               b.checkpoint + "/pretrained_model/model.safetensors");
  const Json row = last_row("a", "conditional_ratio");
  EXPECT_EQ(row.at("conditional_ratio").as_double(), 0.0);
  EXPECT_EQ(row.find("conditional_loss"), nullptr);
  EXPECT_NEAR(row.at("unconditional_loss").as_double(), row.at("loss").as_double(), 1e-6);
}

TEST_F(PolicyStepTest, ValidationDoesNotDependOnTheBatchSizeAndDropsNoTail) {
  const std::string data =
      str_cat("policy.data.val_data_paths=[{dataset_path: ", rollout_, ", name: held, max_samples: 7}]");
  std::map<int, Json> validated;
  for (const int size : {2, 7}) {
    const std::string name = str_cat("v", size);
    train_policy(config(
        name, {data, "policy.runner.max_steps=1", "policy.runner.val_check_interval=9",
               str_cat("policy.actor.micro_batch_size=", size), str_cat("policy.actor.global_batch_size=", size)}));
    validated[size] = rows(name).front();  // before the first step
  }
  for (const auto& [name, value] : validated.at(2).as_object()) {
    if (name.starts_with("eval/")) {
      EXPECT_NEAR(value.as_double(), validated.at(7).at(name).as_double(), 1e-5) << name;
    }
  }
  EXPECT_NEAR(validated.at(2).at("eval/positive_label_ratio").as_double(), 3.0 / 7, 1e-12) << "frames 0, 3 and 6";
  EXPECT_NE(validated.at(2).find("eval/negative_unconditional_loss"), nullptr);
}

TEST_F(PolicyStepTest, APolicyFolderIsTrainedOnWithItsOwnStatistics) {
  const PolicyReport first = train_policy(config("a", {"policy.runner.max_steps=2"}));
  const std::string model = first.checkpoint + "/pretrained_model";
  const std::vector<std::string> from = {"policy.actor.model.model_path=" + model,
                                         "policy.actor.model.architecture=null", "policy.runner.max_steps=1",
                                         "policy.actor.model.tokenizer_path="};
  const PolicyReport second = train_policy(config("b", from));
  const Json facts = Json::read_file(second.checkpoint + "/pretrained_model/flexor_recap.json");
  EXPECT_EQ(facts.at("norm_stats").as_string(), model);
  EXPECT_EQ(facts.at("norm_stats_sha256"), Json::read_file(model + "/flexor_recap.json").at("norm_stats_sha256"));
  EXPECT_EQ(rows("b").front().at("eval/loss"), last_row("a", "eval/loss").at("eval/loss"));
  auto libero = from;
  libero.emplace_back("policy.actor.model.openpi.config_name=pi0_libero");
  EXPECT_TRUE(refused(ErrorKind::kConfig, "the policy is pi05", libero));
}

TEST_F(PolicyStepTest, PoliciesWithOpenpisCameraNamesTakeTheCamerasOfTheirSlots) {
  for (const std::string type : {"pi0", "pi05"}) {
    const std::string model = testing::tests_path("golden/" + type + "_tiny");
    const PolicyReport report =
        train_policy(config(type, {"policy.actor.model.model_path=" + model, "policy.actor.model.architecture=null",
                                   "policy.actor.model.max_token_len=120", "policy.runner.max_steps=1",
                                   "policy.runner.val_check_interval=-1"}));
    const policy::Policy opened = policy::Policy::open(report.checkpoint + "/pretrained_model");
    EXPECT_EQ(opened.config().type, type);
    EXPECT_EQ(opened.processor().config().rename_map.at("observation.images.top"), "observation.images.base_0_rgb");
    EXPECT_EQ(opened.processor().config().rename_map.at("observation.images.wrist"),
              "observation.images.left_wrist_0_rgb");
    const Json row = rows(type).front();
    EXPECT_NE(row.at("loss").as_double(), row.at("loss_real_dims").as_double()) << "7 of 8 dimensions are real";
  }
}

TEST_F(PolicyStepTest, ThePresetDecidesHorizonPromptAndFrozenParts) {
  const PolicyReport report = train_policy(
      config("a", {"policy.actor.model.openpi={config_name: pi05_libero, train_expert_only: true}",
                   "policy.actor.model.action_horizon=null", "policy.actor.fsdp_config.gradient_checkpointing=true",
                   "policy.runner.max_steps=1", "policy.runner.val_check_interval=-1"}));
  const policy::Policy opened = policy::Policy::open(report.checkpoint + "/pretrained_model");
  EXPECT_EQ(opened.config().chunk_size, 10);
  EXPECT_EQ(opened.processor().config().prompt, data::PromptStyle::kOpenpi) << "a stateless policy";
  data::RawBatch raw;
  raw.tasks = {" pick_up\nthe cube "};
  EXPECT_EQ(opened.processor().prompts(raw).front(), "pick up the cube\n") << "without label, cleaned all the same";
  EXPECT_NE(read_file(report.checkpoint + "/pretrained_model/policy_preprocessor.json").find("pi0_new_line_processor"),
            std::string::npos);
  const auto masters = tensors(report.checkpoint + "/training_state/flexor_ema.safetensors");
  for (const auto& [name, tensor] : masters) {
    EXPECT_EQ(name.find("paligemma_with_expert.paligemma."), std::string::npos) << name << " is frozen";
  }
}

TEST_F(PolicyStepTest, BadInputIsOneClearErrorBeforeAnythingIsTrained) {
  label(rollout_, "short", [](int64_t) { return true; }, 7);
  label(sft_, "short", [](int64_t) { return true; });
  EXPECT_TRUE(
      refused(ErrorKind::kData, "7 of 251 frames have no row; the first (episode, frame): (5, ", {"tag=short"}));
  EXPECT_TRUE(refused(ErrorKind::kFile, "advantages_x", {"tag=x"}));
  EXPECT_TRUE(refused(ErrorKind::kConfig, "val_data_paths", {"policy.data.val_data_paths=[]"}));
  EXPECT_TRUE(
      refused(ErrorKind::kConfig, "cfgrl_guidance_scale", {"policy.actor.model.openpi.cfgrl_guidance_scale=.nan"}));
  EXPECT_TRUE(
      refused(ErrorKind::kConfig, "cfgrl_guidance_scale", {"policy.actor.model.openpi.cfgrl_guidance_scale=big"}));
  EXPECT_TRUE(refused(ErrorKind::kConfig, "which policy", {"policy.actor.model.architecture=null"}));
  EXPECT_TRUE(refused(ErrorKind::kFile, "no such policy", {"policy.actor.model.model_path=/nowhere"}));
  EXPECT_TRUE(refused(ErrorKind::kFile, "tokenizer", {"policy.actor.model.tokenizer_path="}));
  EXPECT_TRUE(refused(ErrorKind::kData, "prompt has", {"policy.actor.model.max_token_len=8"}));
  EXPECT_TRUE(refused(ErrorKind::kData, "actions have 7 values", {"policy.actor.model.action_dim=6"}));
  EXPECT_TRUE(refused(ErrorKind::kData, "micro batch",
                      {"policy.actor.micro_batch_size=4000", "policy.actor.global_batch_size=4000"}));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/bad/policy/checkpoints"));
}

/// openpi's norm_stats.json for a state of 8 and an action of 7 values. @param q99  of the last action value
std::string norm_stats(double q99) {
  const auto feature = [](size_t size, double last) {
    Json high = Json(std::vector<double>(size, 1));
    high.as_array().back() = last;
    return Json::object({{"mean", std::vector<double>(size, 0)},
                         {"std", std::vector<double>(size, 1)},
                         {"q01", std::vector<double>(size, -1)},
                         {"q99", high}});
  };
  return Json::object({{"norm_stats", Json::object({{"state", feature(8, 1)}, {"actions", feature(7, q99)}})}}).dump();
}

TEST_F(PolicyStepTest, StatisticsWithoutARangeAreRefused) {
  const std::string path = folder_ + "/norm_stats.json";
  write_file_atomic(path, norm_stats(-1));
  EXPECT_TRUE(refused(ErrorKind::kData, "the range between the quantiles of action is 0 in dimension 6",
                      {"policy.actor.model.norm_stats=" + path}));
  write_file_atomic(path, norm_stats(1));
  const PolicyReport report =
      train_policy(config("good", {"policy.actor.model.norm_stats=" + path, "policy.runner.max_steps=1"}));
  const Json facts = Json::read_file(report.checkpoint + "/pretrained_model/flexor_recap.json");
  EXPECT_EQ(facts.at("norm_stats").as_string(), path);
}

TEST_F(PolicyStepTest, AnOpenpiFolderBringsItsStatistics) {
  const std::string model = copy_of("golden/pi05_tiny", "openpi");
  const Json sizes = Json::read_file(model + "/config.json");
  write_file_atomic(model + "/config.json", Json::object({{"action_dim", 8},
                                                          {"action_horizon", 10},
                                                          {"paligemma_variant", "gemma_2b"},
                                                          {"precision", "float32"},
                                                          {"image_resolution", sizes.at("image_resolution")},
                                                          {"architecture", sizes.at("architecture")}})
                                                .dump());
  write_file_atomic(model + "/assets/lab/arm/norm_stats.json", norm_stats(1));
  const std::vector<std::string> from = {"policy.actor.model.model_path=" + model,
                                         "policy.actor.model.architecture=null",
                                         "policy.actor.model.openpi.config_name=pi05_libero",
                                         "policy.runner.max_steps=1", "policy.runner.val_check_interval=-1"};
  const PolicyReport report = train_policy(config("a", from));
  const Json facts = Json::read_file(report.checkpoint + "/pretrained_model/flexor_recap.json");
  EXPECT_EQ(facts.at("norm_stats").as_string(), model + "/assets/lab/arm/norm_stats.json");
  write_file_atomic(model + "/assets/other/norm_stats.json", norm_stats(1));
  EXPECT_TRUE(refused(ErrorKind::kCheckpoint, "several statistics", from));
}

TEST(PolicyRenames, CamerasOfSlotsAndColumnsOfOtherNames) {
  schema::PolicyConfig policy = schema::default_policy_config("pi05");
  for (const char* slot : {"base_0_rgb", "left_wrist_0_rgb"}) {
    policy.input_features.push_back({str_cat("observation.images.", slot), schema::FeatureType::kVisual, {3, 8, 8}});
  }
  const auto feature = [](const char* name, const char* dtype) {
    data::FeatureInfo info;
    info.name = info.recorded_name = name;
    info.dtype = dtype;
    return info;
  };
  const std::vector<data::FeatureInfo> libero = {feature("image", "image"), feature("wrist_image", "image"),
                                                 feature("state", "float32"), feature("actions", "float32")};
  using Renames = std::map<std::string, std::string>;
  EXPECT_EQ(policy_renames(libero, policy, "libero", {}, "x"),
            (Renames{{"image", "observation.images.base_0_rgb"},
                     {"wrist_image", "observation.images.left_wrist_0_rgb"},
                     {"state", "observation.state"},
                     {"actions", "action"}}));
  const Renames given{{"image", "observation.images.base_0_rgb"}};
  EXPECT_EQ(policy_renames(libero, policy, "libero", given, "x").size(), 3U) << "a known camera: no others are named";
  policy.input_features.clear();
  EXPECT_EQ(policy_renames(libero, policy, "libero", {}, "x").size(), 2U) << "from scratch cameras keep their names";
}

}  // namespace
}  // namespace flexor::recap
