#include "eval/evaluate.h"

#include <cmath>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::eval {
namespace {

using flexor::testing::tests_path;

constexpr int64_t kSteps = 4, kDims = 6;

/// Answers with the noise that sampling starts from, shifted and scaled, and with a loss that is the mean of the noise.
class NoiseModel final : public models::PolicyModel {
 public:
  NoiseModel(schema::PolicyConfig config, double scale) : config_(std::move(config)), scale_(scale) {}
  const schema::PolicyConfig& config() const override { return config_; }
  models::ComputeOptions& options() override { return options_; }
  void params(nn::ParamVisitor& /*visitor*/) override {}
  ModelBlocks blocks() const override { return {}; }
  models::LossOutput loss(const schema::Batch& batch, const Tensor& noise, const Tensor& time) override {
    EXPECT_EQ(noise.size(0), batch.size());
    const Tensor per_sample = noise.mean(2).mean(1) + time;
    return {per_sample.mean(), per_sample, {}};
  }
  Tensor sample(const schema::Batch& /*batch*/, const Tensor& noise, const models::SampleOptions& options) override {
    num_steps = options.num_steps;
    guided = options.guided;
    return noise * scale_;
  }
  int64_t num_steps = 0;
  std::optional<models::GuidedPrompt> guided;

 private:
  schema::PolicyConfig config_;
  models::ComputeOptions options_;
  double scale_;
};

policy::Policy make_policy(double scale) {
  const std::string folder = tests_path("golden/processor/pi0");
  schema::PolicyConfig config = schema::policy_config_from_json(Json::read_file(folder + "/config.json"), folder);
  config.chunk_size = config.n_action_steps = kSteps;
  data::ProcessorConfig processor = data::read_processor(folder, config);
  processor.max_length = 64;
  processor.stats["action"].values["mean"] = {1, 2, 3, 4, 5, 6};
  processor.stats["action"].values["std"] = {1, 1, 1, 1, 1, 1};
  return {std::make_unique<NoiseModel>(config, scale),
          data::Processor(processor, data::Tokenizer::open(tests_path("golden/tokenizer"))), at::kCPU};
}

data::RawBatch frames(int64_t first, int64_t count) {
  data::RawBatch raw;
  raw.cameras = {{"observation.images.base_0_rgb", at::zeros({count, 3, 28, 28}, at::kByte)}};
  raw.state = at::zeros({count, kDims});
  raw.action = at::zeros({count, kSteps, kDims});
  raw.action_is_pad = at::zeros({count, kSteps}, at::kBool);
  for (int64_t i = 0; i < count; ++i) {
    raw.tasks.emplace_back("fold");
    raw.episodes.push_back(5);
    raw.frames.push_back(first + i);
    raw.action[i] = static_cast<double>(first + i);
    raw.state[i] = 0.5;
  }
  return raw;
}

EvalBatches once(std::vector<data::RawBatch> batches) {
  const auto count = static_cast<int64_t>(batches.size());
  return {.count = count,
          .read = [batches = std::move(batches)](int64_t i) { return batches[static_cast<size_t>(i)]; }};
}

TEST(Evaluate, ScoresAgainstTheRecordedActionsByHand) {
  policy::Policy policy = make_policy(/*scale=*/0);  // always predicts the mean action 1..6
  const EvalResult result = evaluate(policy, once({frames(0, 2), frames(2, 1)}), {.action_names = {"a", "b"}});
  EXPECT_EQ(result.frames, 3);  // actions 0, 1, 2 everywhere
  ASSERT_EQ(result.mae.size(), 6u);
  for (size_t d = 0; d < 6; ++d) {
    const auto mean = static_cast<double>(d + 1);
    const double expected = (std::abs(mean - 0) + std::abs(mean - 1) + std::abs(mean - 2)) / 3;
    EXPECT_NEAR(result.mae[d], expected, 1e-6);
    EXPECT_NEAR(result.mae_by_step_and_dim[3][d], expected, 1e-6);
  }
  ASSERT_EQ(result.mae_by_step.size(), static_cast<size_t>(kSteps));
  EXPECT_NEAR(result.baseline_mean_mae, result.mae_by_step[0], 1e-6);
  EXPECT_EQ(result.baseline_hold, "state");
  EXPECT_NEAR(result.baseline_hold_mae, (0.5 + 0.5 + 1.5) / 3, 1e-6);
  EXPECT_EQ(result.names, (std::vector<std::string>{"a", "b", "action_2", "action_3", "action_4", "action_5"}));
}

TEST(Evaluate, StepsBeyondTheEpisodesEndDoNotCount) {
  policy::Policy policy = make_policy(0);
  data::RawBatch raw = frames(0, 2);
  raw.action[1].narrow(0, 1, 3).fill_(1000);
  raw.action_is_pad[1].narrow(0, 1, 3).fill_(true);  // frame 1 has one step
  raw.action_is_pad[0][3].fill_(true);
  const EvalResult result = evaluate(policy, once({raw}), {});
  EXPECT_NEAR(result.mae_by_step_and_dim[0][0], (1.0 + 0.0) / 2, 1e-6);
  EXPECT_NEAR(result.mae_by_step_and_dim[1][0], 1.0, 1e-6);
  EXPECT_TRUE(std::isnan(result.mae_by_step[3]));
  EXPECT_NEAR(result.mae[0], 3.0 / 4, 1e-6);
  EXPECT_TRUE(to_json(result).at("mae_by_step").as_array()[3].is_null());
}

TEST(Evaluate, DoesNotDependOnHowFramesAreBatched) {
  policy::Policy policy = make_policy(1);
  const EvalResult one = evaluate(policy, once({frames(0, 5)}), {.seed = 3});
  const EvalResult two = evaluate(policy, once({frames(0, 1), frames(1, 4)}), {.seed = 3});
  const EvalResult other = evaluate(policy, once({frames(0, 5)}), {.seed = 4});
  EXPECT_NEAR(one.loss, two.loss, 1e-9);
  for (size_t d = 0; d < 6; ++d) {
    EXPECT_NEAR(one.mae[d], two.mae[d], 1e-6);
  }
  EXPECT_GT(std::abs(one.mae[0] - other.mae[0]), 1e-3);
}

TEST(Evaluate, HoldsTheFirstActionWhenStateAndActionDiffer) {
  policy::Policy policy = make_policy(0);
  data::RawBatch raw = frames(1, 1);
  raw.action[0][3] = 5.0;
  data::ProcessorConfig config = policy.processor().config();
  for (auto& feature : config.features) {
    if (feature.name == "observation.state") {
      feature.shape = {2};
    }
  }
  for (auto& [name, values] : config.stats["observation.state"].values) {
    values.resize(name == "count" ? 1 : 2);
  }
  policy::Policy narrow(std::make_unique<NoiseModel>(policy.config(), 0.0),
                        data::Processor(config, policy.processor().tokenizer()), at::kCPU);
  raw.state = at::zeros({1, 2});
  const EvalResult result = evaluate(narrow, once({raw}), {});
  EXPECT_EQ(result.baseline_hold, "first_action");
  EXPECT_NEAR(result.baseline_hold_mae, 4.0 / 4, 1e-6);
}

TEST(Evaluate, KeepsAFewFramesToShow) {
  policy::Policy policy = make_policy(0);
  std::vector<data::RawBatch> batches;
  for (int64_t i = 0; i < 9; ++i) {
    batches.push_back(frames(2 * i, 2));
  }
  batches[2].action_is_pad[0][3].fill_(true);
  const EvalResult result = evaluate(policy, once(batches), {});
  ASSERT_EQ(result.samples.size(), 4u);  // batches 0, 2, 4, 6
  EXPECT_EQ(result.samples[1].episode, 5);
  EXPECT_EQ(result.samples[1].frame, 4);
  ASSERT_EQ(result.samples[1].predicted.size(), static_cast<size_t>(kSteps));
  EXPECT_NEAR(result.samples[1].predicted[3][5], 6.0, 1e-6);
  ASSERT_EQ(result.samples[1].recorded.size(), static_cast<size_t>(kSteps - 1));
  EXPECT_EQ(result.samples[1].recorded[0], std::vector<double>(6, 4.0));
  EXPECT_EQ(result.samples[3].frame, 12);
  EXPECT_EQ(evaluate(policy, once({frames(0, 2)}), {}).samples.size(), 1u);
}

TEST(Evaluate, UsesTheAskedNumberOfSteps) {
  policy::Policy policy = make_policy(0);
  evaluate(policy, once({frames(0, 1)}), {.num_steps = 3});
  EXPECT_EQ(dynamic_cast<NoiseModel&>(policy.model()).num_steps, 3);
  evaluate(policy, once({frames(0, 1)}), {});
  EXPECT_EQ(dynamic_cast<NoiseModel&>(policy.model()).num_steps, 10);
}

TEST(Evaluate, SamplesWithTheAskedGuidance) {
  policy::Policy policy = make_policy(0);
  const policy::Guidance guidance{.type = policy::GuidanceType::kPositive, .weight = 2.5};
  const EvalResult result = evaluate(policy, once({frames(0, 2)}), {.guidance = guidance});
  const auto& model = dynamic_cast<NoiseModel&>(policy.model());
  ASSERT_TRUE(model.guided);
  EXPECT_EQ(model.guided->weight, 2.5);
  EXPECT_TENSOR_EQUAL(model.guided->tokens, policy.guided_prompt(frames(0, 2), guidance)->tokens);
  EXPECT_EQ(to_json(result).at("guidance").dump(), R"({"type": "positive", "weight": 2.5})");
  EXPECT_TRUE(to_json(evaluate(policy, once({frames(0, 2)}), {})).at("guidance").is_null());
  EXPECT_FALSE(model.guided);
}

TEST(Evaluate, RefusesNothingAndWrongWindows) {
  policy::Policy policy = make_policy(0);
  EXPECT_THROW(evaluate(policy, once({}), {}), Error);
  data::RawBatch raw = frames(0, 1);
  raw.action = at::zeros({1, kSteps + 1, kDims});
  EXPECT_THROW(evaluate(policy, once({raw}), {}), Error);
  raw.action = Tensor();
  EXPECT_THROW(evaluate(policy, once({raw}), {}), Error);
}

TEST(Evaluate, WritesTheContractsKeys) {
  policy::Policy policy = make_policy(0);
  const EvalResult result = evaluate(policy, once({frames(0, 2)}), {});
  const std::string path = write_json(result, ::testing::TempDir() + "flexor_eval_keys");
  const Json json = Json::read_file(path);
  for (const char* key : {"loss", "mae", "mae_by_step", "mae_by_step_and_dim", "names", "baseline_hold_mae",
                          "baseline_mean_mae", "frames"}) {
    EXPECT_NE(json.find(key), nullptr) << key;
  }
  EXPECT_EQ(json.at("mae_by_step_and_dim").size(), static_cast<size_t>(kSteps));
  const Json samples = Json::read_file(::testing::TempDir() + "flexor_eval_keys/samples.json");
  EXPECT_EQ(samples.at("names").size(), static_cast<size_t>(kDims));
  EXPECT_EQ(samples.at("samples").as_array().at(0).at("predicted").size(), static_cast<size_t>(kSteps));
}

}  // namespace
}  // namespace flexor::eval
