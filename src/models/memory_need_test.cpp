#include "models/memory_need.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/memory.h"
#include "models/trainable.h"
#include "nn/named_params.h"

namespace flexor::models {
namespace {

schema::PolicyConfig small_config() {
  schema::PolicyConfig config = schema::default_policy_config("pi05");
  config.image_resolution = {28, 28};
  config.architecture = schema::Architecture{
      .vocab_size = 64,
      .vision = {.width = 16, .depth = 1, .num_heads = 2, .mlp_dim = 32, .patch_size = 14},
      .paligemma = {.width = 32, .depth = 2, .mlp_dim = 32, .num_heads = 2, .num_kv_heads = 1, .head_dim = 8},
      .action_expert = {.width = 16, .depth = 2, .mlp_dim = 32, .num_heads = 2, .num_kv_heads = 1, .head_dim = 8}};
  return config;
}

std::unique_ptr<PolicyModel> trained_model(const schema::PolicyConfig& config) {
  auto model = make_policy(config, {});
  set_trainable(*model);
  return model;
}

TEST(MemoryNeed, GrowsWithMastersAveragesAndTheBatch) {
  const auto model = trained_model(small_config());
  const double least = min_training_bytes(*model, {.batch_size = 1});
  EXPECT_GE(least, 2.0 * static_cast<double>(nn::count_params(*model)));
  EXPECT_GT(min_training_bytes(*model, {.batch_size = 2}), least);
  EXPECT_GT(min_training_bytes(*model, {.batch_size = 1, .has_ema = true}), least);
  EXPECT_GT(min_training_bytes(*model, {.batch_size = 1, .from_scratch = true}), least);
  schema::PolicyConfig half = small_config();
  half.dtype = "bfloat16";
  const auto half_model = trained_model(half);
  EXPECT_LT(min_training_bytes(*half_model, {.batch_size = 1}), least);
  EXPECT_GT(min_training_bytes(*half_model, {.batch_size = 1, .has_masters = true}),
            min_training_bytes(*half_model, {.batch_size = 1}));
}

TEST(MemoryNeed, OfARealSizeIsBelowWhatIsMeasured) {
  const auto model = make_policy(schema::default_policy_config("pi05"), {});  // memory is taken when it is written
  const double parameters = static_cast<double>(nn::count_params(*model));
  set_trainable(*model);
  const double bytes = min_training_bytes(*model, {.batch_size = 1});
  EXPECT_GT(bytes, parameters * 4);
  EXPECT_LT(bytes, parameters * 16);
}

TEST(MemoryNeed, BeyondTheMachineIsRefusedWithBothFigures) {
  ASSERT_GT(memory_limit_bytes(), 0);
  schema::PolicyConfig config = small_config();
  check_training_memory(*trained_model(config), {.batch_size = 4});
  config.chunk_size = 1 << 20;
  const auto model = trained_model(config);
  try {
    check_training_memory(*model, {.batch_size = 4});
    FAIL() << "a window of a million steps was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(exit_code(error.kind()), 1);
    EXPECT_THAT(error.what(), ::testing::MatchesRegex("a training step needs at least .* GiB of memory, this machine "
                                                      "has .* GiB"));
    EXPECT_THAT(error.where(), ::testing::HasSubstr("policy.chunk_size 1048576"));
  }
}

}  // namespace
}  // namespace flexor::models
