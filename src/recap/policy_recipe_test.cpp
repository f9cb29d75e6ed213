#include "recap/policy_recipe.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "data/relative_actions.h"
#include "recap/recap_fixture.h"

namespace flexor::recap {
namespace {

using schema::FeatureType;
using schema::NormMode;

PolicyStep step_of(const std::string& config_name, const std::string& model_path = {}) {
  PolicyStep step;
  step.actor.model.openpi.config_name = config_name;
  step.actor.model.model_path = model_path;
  if (model_path.empty()) {
    step.actor.model.architecture.emplace();
  }
  return step;
}

TEST(PolicyRecipe, PresetsAreOpenpisConfigurations) {
  const schema::PolicyConfig pi05 = starting_policy(step_of("pi05_libero"));
  EXPECT_EQ(pi05.type, "pi05");
  EXPECT_EQ(pi05.chunk_size, 10);
  EXPECT_EQ(pi05.n_action_steps, 10);
  EXPECT_FALSE(pi05.use_relative_actions);
  EXPECT_EQ(pi05.normalization_mapping.at(FeatureType::kAction), NormMode::kQuantiles);
  EXPECT_EQ(prompt_style(step_of("pi05_libero").actor.model, pi05), data::PromptStyle::kNewline);
  EXPECT_EQ(prompt_style(step_of("pi05").actor.model, pi05), data::PromptStyle::kState);

  schema::PolicyConfig pi0 = starting_policy(step_of("pi0_libero"));
  EXPECT_EQ(pi0.type, "pi0");
  EXPECT_EQ(pi0.chunk_size, 50);
  EXPECT_EQ(pi0.tokenizer_max_length, 48);
  EXPECT_EQ(pi0.normalization_mapping.at(FeatureType::kState), NormMode::kMeanStd);
  pi0.output_features = {{"action", FeatureType::kAction, {7}}};
  set_relative_dims(pi0, policy_preset("pi0_libero"));
  const std::vector<bool> mask = data::relative_mask({true, pi0.relative_exclude_joints, pi0.action_feature_names}, 7);
  EXPECT_EQ(mask, (std::vector<bool>{true, true, true, true, true, true, false}));
}

TEST(PolicyRecipe, KeysOfTheSectionBeatThePreset) {
  PolicyStep step = step_of("pi0_libero");
  PolicyModelSection& section = step.actor.model;
  section.action_horizon = 20;
  section.num_action_chunks = 30;
  section.use_relative_actions = false;
  section.max_token_len = 64;
  section.precision = "bf16";
  section.openpi.train_expert_only = true;
  step.actor.fsdp_config.gradient_checkpointing = true;
  const schema::PolicyConfig policy = starting_policy(step);
  EXPECT_EQ(policy.chunk_size, 20);
  EXPECT_EQ(policy.n_action_steps, 20) << "no more steps than a chunk has";
  EXPECT_FALSE(policy.use_relative_actions);
  EXPECT_EQ(policy.tokenizer_max_length, 64);
  EXPECT_EQ(policy.dtype, "bfloat16");
  EXPECT_TRUE(policy.train_expert_only);
  EXPECT_TRUE(policy.gradient_checkpointing);
}

TEST(PolicyRecipe, AStateDictHasOpenpisCamerasAndThePresetsPolicy) {
  const std::string path = testing::tests_path("data/torch/rlinf_policy");
  EXPECT_TRUE(has_plain_weights(path));
  const schema::PolicyConfig policy = starting_policy(step_of("pi05_libero", path));
  EXPECT_EQ(policy.type, "pi05");
  EXPECT_EQ(policy.dtype, "float32") << "as its tensors are";
  ASSERT_EQ(policy.cameras().size(), 3U);
  EXPECT_EQ(policy.cameras()[0].name, "observation.images.base_0_rgb");
  EXPECT_TRUE(
      throws_error(ErrorKind::kConfig, "does not say which policy", [&] { starting_policy(step_of("auto", path)); }));
}

TEST(PolicyRecipe, APolicyFolderKeepsWhatThePresetDoesNotSay) {
  const std::string path = testing::tests_path("golden/pi0_tiny");
  EXPECT_FALSE(has_plain_weights(path));
  const schema::PolicyConfig stored = starting_policy(step_of("auto", path));
  EXPECT_EQ(stored.type, "pi0");
  EXPECT_EQ(starting_policy(step_of("pi0", path)).chunk_size, stored.chunk_size);
  EXPECT_EQ(starting_policy(step_of("pi0_libero", path)).chunk_size, 50);
  EXPECT_TRUE(throws_error(ErrorKind::kConfig, "openpi.config_name is pi05_libero, the policy is pi0",
                           [&] { starting_policy(step_of("pi05_libero", path)); }));
  EXPECT_TRUE(throws_error(ErrorKind::kFile, "no such policy", [&] { starting_policy(step_of("auto", "/nowhere")); }));
}

}  // namespace
}  // namespace flexor::recap
