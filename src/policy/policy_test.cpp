#include "policy/policy.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "policy/policy_fixture.h"
#include "schema/batch_file.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"
#include "testing/error_text.h"
#include "testing/golden.h"

namespace flexor::policy {
namespace {

namespace fs = std::filesystem;
using flexor::testing::error_text;
using flexor::testing::golden;
using flexor::testing::tests_path;
using ::testing::HasSubstr;

/// Rows [from, from + 1) of a batch.
data::RawBatch row(const data::RawBatch& raw, int64_t from) {
  data::RawBatch one;
  for (const auto& camera : raw.cameras) {
    one.cameras.push_back({camera.name, camera.pixels.narrow(0, from, 1)});
  }
  one.state = raw.state.narrow(0, from, 1);
  one.tasks = {raw.tasks[static_cast<size_t>(from)]};
  one.episodes = {from};
  one.frames = {0};
  return one;
}

class PolicyTypes : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Types, PolicyTypes, ::testing::Values("pi0", "pi05"));

TEST_P(PolicyTypes, PreparedTensorsGiveTheReferencesChunk) {
  Policy policy = Policy::open(policy_folder(GetParam(), "prepared"));
  const schema::BatchFile inputs =
      schema::read_batch_file(tests_path(str_cat("golden/", GetParam(), "_tiny/inputs.safetensors")));
  const ActionChunk chunk = policy.predict(inputs.batch, inputs.at("sample_noise"), policy.default_sampling());
  const auto expected = golden(str_cat(GetParam(), "_tiny/expected.safetensors"));
  EXPECT_TENSOR_NEAR(chunk.normalized, expected.get("sampled_actions"), 1e-4, 2e-5);
  EXPECT_TENSOR_NEAR(chunk.normalized.narrow(-1, 0, 6), expected.get("predict_action_chunk"), 1e-4, 2e-5);

  const schema::FeatureStats& stats = policy.processor().config().stats.at("action");
  const auto stat = [&](const char* name) { return at::tensor(stats.at(name), at::kDouble); };
  const Tensor x = expected.get("predict_action_chunk").to(at::kDouble);
  const Tensor physical = policy.config().is_pi05() ? (x + 1) * (stat("q99") - stat("q01")) / 2 + stat("q01")
                                                    : x * stat("std") + stat("mean");
  EXPECT_TENSOR_NEAR(chunk.actions, physical, 1e-3, 1e-4);
}

TEST_P(PolicyTypes, AnObservationsChunkDoesNotDependOnItsBatch) {
  Policy policy = Policy::open(policy_folder(GetParam(), "rows"));
  const data::RawBatch raw = observations(3);
  at::Generator generator = make_generator(1);
  const Tensor noise = policy.draw_noise(3, generator);
  const ActionChunk all = policy.predict(raw, noise, policy.default_sampling());
  EXPECT_EQ(all.actions.sizes(), at::IntArrayRef({3, 10, 6}));
  for (int64_t b = 0; b < 3; ++b) {
    const ActionChunk one = policy.predict(row(raw, b), noise.narrow(0, b, 1), policy.default_sampling());
    EXPECT_TENSOR_NEAR(one.actions, all.actions.narrow(0, b, 1), 1e-4, 1e-5);
  }
}

TEST_P(PolicyTypes, RelativeActionsAddTheStateBack) {
  const std::string folder = policy_folder(GetParam(), "relative");
  Policy absolute = Policy::open(folder);
  data::ProcessorConfig config = absolute.processor().config();
  config.relative.enabled = true;
  data::write_processor(config, folder);
  Policy relative = Policy::open(folder);
  const data::RawBatch raw = observations(2);
  at::Generator generator = make_generator(1);
  const Tensor noise = absolute.draw_noise(2, generator);
  const Tensor difference = relative.predict(raw, noise, relative.default_sampling()).actions -
                            absolute.predict(raw, noise, absolute.default_sampling()).actions;
  EXPECT_TENSOR_NEAR(difference, raw.state.unsqueeze(1).expand({2, 10, 6}), 1e-4, 1e-5);
  const Tensor prepared =
      relative.predict(relative.processor().preprocess(raw), noise, relative.default_sampling()).actions;
  EXPECT_TENSOR_NEAR(prepared, relative.predict(raw, noise, relative.default_sampling()).actions, 1e-4, 1e-5);
}

TEST(Policy, ActHandsOutAChunkAndThenSamplesTheNext) {
  Policy policy = Policy::open(policy_folder("pi05", "act"));
  const data::RawBatch raw = observations(2);
  at::Generator first = make_generator(3), again = make_generator(3);
  const Tensor chunk = policy.predict(raw, policy.draw_noise(2, first), policy.default_sampling()).actions;
  const Tensor second = policy.predict(raw, policy.draw_noise(2, first), policy.default_sampling()).actions;
  for (int64_t t = 0; t < policy.config().n_action_steps; ++t) {
    EXPECT_TENSOR_NEAR(policy.act(raw, again, policy.default_sampling()), chunk.select(1, t), 1e-5, 1e-6);
  }
  EXPECT_TENSOR_NEAR(policy.act(raw, again, policy.default_sampling()), second.select(1, 0), 1e-5, 1e-6);
  policy.reset();
  at::Generator third = make_generator(3);
  EXPECT_TENSOR_NEAR(policy.act(raw, third, policy.default_sampling()), chunk.select(1, 0), 1e-5, 1e-6);
  models::SampleOptions rtc = policy.default_sampling();
  rtc.rtc = models::RtcArguments{};
  EXPECT_THROW(policy.act(raw, third, rtc), Error);
}

TEST(Policy, TheTokenizerIsOnlyNeededForRawObservations) {
  const std::string folder = policy_folder("pi05", "no_tokenizer");
  fs::remove_all(folder + "/tokenizer");
  Policy policy = Policy::open(folder);
  at::Generator generator = make_generator(1);
  const Tensor noise = policy.draw_noise(1, generator);
  EXPECT_THAT(error_text([&] { policy.predict(observations(1), noise, policy.default_sampling()); }),
              HasSubstr("policy.tokenizer_path="));
  PolicyOptions options;
  options.tokenizer_path = tests_path("data/tokenizer/tokenizer_512.model");
  Policy named = Policy::open(folder, options);
  EXPECT_EQ(named.predict(observations(1), noise, named.default_sampling()).actions.size(0), 1);
}

TEST(Policy, FoldersThatDoNotFitAreRefused) {
  PolicyOptions options;
  options.tokenizer_path = tests_path("golden/tokenizer");
  EXPECT_THAT(error_text([&] { Policy::open(policy_folder("pi05", "vocabulary"), options); }),
              HasSubstr("tokenizer has 640 tokens, the policy's embedding table has 512 rows"));
  std::string folder = policy_folder("pi05", "no_processor");
  fs::remove(folder + "/policy_preprocessor.json");
  EXPECT_THAT(error_text([&] { Policy::open(folder); }), HasSubstr("no policy_preprocessor.json"));
  folder = policy_folder("pi05", "no_statistics");
  fs::remove(folder + "/policy_preprocessor_step_3_normalizer_processor.safetensors");
  EXPECT_THAT(error_text([&] { Policy::open(folder); }),
              HasSubstr("policy_preprocessor_step_3_normalizer_processor.safetensors"));
  EXPECT_THAT(error_text([&] { Policy::open("/nonexistent"); }), HasSubstr("/nonexistent"));
}

const char* const kNormStats = R"({"norm_stats": {
  "state": {"mean": [0, 0, 0, 0, 0, 0, 0], "std": [1, 1, 1, 1, 1, 1, 1], "q01": [-1, -1, -1, -1, -1, -1, -1], "q99": [1, 1, 1, 1, 1, 1, 1]},
  "actions": {"mean": [1, 1, 1, 1, 1, 1], "std": [2, 2, 2, 2, 2, 2], "q01": [-1, -1, -1, -1, -1, -1], "q99": [3, 3, 3, 3, 3, 3]}}})";

TEST(Policy, OpenpiStatisticsBeatTheStoredOnes) {
  const std::string folder = policy_folder("pi05", "norm_stats");
  write_file_atomic(folder + "/norm_stats.json", kNormStats);
  PolicyOptions options;
  options.norm_stats = folder + "/norm_stats.json";
  Policy policy = Policy::open(folder, options);
  at::Generator generator = make_generator(1);
  const ActionChunk chunk = policy.predict(observations(1), policy.draw_noise(1, generator), policy.default_sampling());
  EXPECT_TENSOR_NEAR(chunk.actions, chunk.normalized.narrow(-1, 0, 6) * 2 + 1, 1e-5, 1e-5);
}

TEST_P(PolicyTypes, AnOpenpiCheckpointIsUsedAsItIs) {
  const std::string folder = policy_folder(GetParam(), "openpi");
  const Json lerobot = Json::read_file(folder + "/config.json");
  for (const char* file : {"policy_preprocessor.json", "policy_postprocessor.json"}) {
    fs::remove(folder + "/" + file);
  }
  write_file_atomic(folder + "/config.json", Json::object({{"action_dim", 8},
                                                           {"action_horizon", 10},
                                                           {"paligemma_variant", "gemma_2b"},
                                                           {"precision", "float32"},
                                                           {"image_resolution", lerobot.at("image_resolution")},
                                                           {"architecture", lerobot.at("architecture")}})
                                                 .dump(2));
  write_file_atomic(folder + "/assets/lab/arm/norm_stats.json", kNormStats);
  Policy policy = Policy::open(folder);
  EXPECT_EQ(policy.config().type, GetParam());
  EXPECT_EQ(policy.config().chunk_size, 10);
  EXPECT_EQ(policy.processor().state_dim(), 7);
  data::RawBatch raw = observations(1);
  raw.state = at::zeros({1, 7});
  raw.tasks = {" fold_the towel\n"};
  EXPECT_EQ(policy.processor().prompts(raw)[0],
            policy.config().is_pi05() ? "Task: fold the towel, State: 127 127 127 127 127 127 127;\nAction: "
                                      : "fold the towel\n");
  at::Generator generator = make_generator(1);
  const Tensor noise = policy.draw_noise(1, generator);
  if (!policy.config().is_pi05()) {
    const ActionChunk chunk = policy.predict(raw, noise, policy.default_sampling());
    EXPECT_TENSOR_NEAR(chunk.actions, chunk.normalized.narrow(-1, 0, 6) * (2 + 1e-6) + 1, 1e-5, 1e-5);
  }
  write_file_atomic(folder + "/assets/other/norm_stats.json", kNormStats);
  EXPECT_THAT(error_text([&] { Policy::open(folder); }), HasSubstr("several statistics"));
}

}  // namespace
}  // namespace flexor::policy
