#include "recap/steam_step.h"

#include <cmath>

#include "base/file.h"
#include "models/steam_model.h"
#include "nn/named_params.h"
#include "recap/recap_fixture.h"
#include "recap/steam_data.h"
#include "recap/steam_task.h"
#include "recap/value_checkpoint.h"
#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

class SteamStepTest : public RecapFolder {
 protected:
  void SetUp() override {
    RecapFolder::SetUp();
    data_ = copy_of("data/datasets/v21_h264", "sft");
  }
  std::vector<std::string> keys(const std::string& run, const std::vector<std::string>& more) const {
    std::vector<std::string> all = {
        "output_dir=" + folder_ + "/" + run,
        "threads=1",
        str_cat("data={train_data_paths: [{dataset_path: ", data_, ", type: sft}], robot_type: auto}"),
        str_cat("value.data.eval_data_paths=[{dataset_path: ", data_,
                ", name: held, type: sft, episode_percentage: 20}]"),
        "value.data.num_workers=0",
        "value.runner={max_steps: 2, val_check_interval: 2, save_interval: 1, log_interval: 1}",
        "value.actor.micro_batch_size=2",
        "value.actor.global_batch_size=4",
        "value.actor.steam={k: 4, num_bins: 4, ensemble_size: 2, projection_dim: 8}",
        "value.actor.optim={lr: 0.001, value_lr: 0.001, lr_warmup_steps: 0, clip_grad: 10}",
        "value.actor.model={model_type: steam_value_model, precision: fp32, max_token_len: 24, tokenizer_path: " +
            testing::tests_path("data/tokenizer/tokenizer_512.model") +
            ", architecture: {image_size: 28, vision: {width: 16, depth: 1, num_heads: 2, mlp_dim: 16, patch_size: "
            "14}, "
            "gemma3: {vocab_size: 512, width: 16, depth: 2, mlp_dim: 16, num_heads: 2, num_kv_heads: 1, head_dim: 8, "
            "query_pre_attn_scalar: 8, sliding_window: 4, full_layers: [1]}, expert: {width: 8, depth: 1, mlp_dim: 8, "
            "num_heads: 1, num_kv_heads: 1, head_dim: 8}}}"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  RecapConfig config(const std::string& run, const std::vector<std::string>& more = {}) const {
    return load_recap_config({.files = {}, .overrides = keys(run, more)}, std::nullopt);
  }

  std::string data_;
};

TEST_F(SteamStepTest, TrainsEveryMemberByItselfAndResumesToTheSameBits) {
  const ValueReport whole = train_steam(config("whole"));
  EXPECT_EQ(whole.steps, 2);
  EXPECT_TRUE(whole.checkpoint.ends_with("global_step_2"));
  EXPECT_TRUE(std::isfinite(whole.validation.at("loss")));
  train_steam(config("parts", {"value.runner.max_steps=1"}));
  const ValueReport parts = train_steam(config("parts", {"value.runner.resume_dir=auto"}));
  const auto a = models::open_steam(whole.checkpoint), b = models::open_steam(parts.checkpoint);
  const auto left = nn::named_params(*a), right = nn::named_params(*b);
  ASSERT_EQ(left.size(), right.size());
  for (size_t i = 0; i < left.size(); ++i) {
    EXPECT_TRUE(at::equal(left[i].second, right[i].second)) << left[i].first;
  }
  EXPECT_FALSE(at::equal(a->members()[0].head_out.weight, a->members()[1].head_out.weight));
  EXPECT_TRUE(throws_error(ErrorKind::kConfig, "'actor.steam.k' was 4 and is now 8", [&] {
    train_steam(config("parts", {"value.runner.resume_dir=auto", "value.actor.steam.k=8"}));
  }));
}

TEST_F(SteamStepTest, MergedEnsemblesHoldAllMembers) {
  const ValueReport first = train_steam(config("a")), second = train_steam(config("b", {"value.actor.seed=1"}));
  const std::string merged =
      merge_steam({first.checkpoint, second.checkpoint}, {.files = {}, .overrides = {"output_dir=" + folder_ + "/m"}});
  const auto ensemble = models::open_steam(merged);
  EXPECT_EQ(ensemble->config().ensemble_size, 4);
  EXPECT_TENSOR_EQUAL(ensemble->members()[3].head_out.weight,
                      models::open_steam(second.checkpoint)->members()[1].head_out.weight);
  EXPECT_EQ(ValueRun(folder_ + "/m").best(), std::filesystem::canonical(merged).string());
  const ValueReport other = train_steam(config("c", {"value.actor.steam.k=8"}));
  EXPECT_TRUE(throws_error(ErrorKind::kCheckpoint, "another kind", [&] {
    merge_steam({first.checkpoint, other.checkpoint}, {.files = {}, .overrides = {"output_dir=" + folder_ + "/n"}});
  }));
}

TEST_F(SteamStepTest, PairsStayInsideTheirEpisodeAndKnowTheirStride) {
  const ValueStep step = config("a").value;
  const SteamData data = open_steam_data(step);
  const SteamDataset& dataset = data.train.front();
  int64_t anchors = 0;
  for (int64_t i = 0; i < dataset.dataset.num_episodes(); ++i) {
    anchors += dataset.dataset.episode(i).length - 1;
  }
  ASSERT_EQ(dataset.num_items(), 2 * anchors);
  const StrideBins bins{4, 4};
  for (int64_t item = 0; item < dataset.num_items(); ++item) {
    const SteamPair pair = steam_pair(dataset, item, static_cast<uint64_t>(item) * 7, step.actor.steam, 0);
    EXPECT_EQ(dataset.dataset.episode_number(pair.first), dataset.dataset.episode_number(pair.second));
    const int64_t stride = pair.second - pair.first;
    EXPECT_EQ(stride > 0, item % 2 == 0);
    EXPECT_LE(std::abs(stride), 4);
    EXPECT_EQ(pair.label, bins.bin(stride));
  }
  SteamSection binary = step.actor.steam;
  binary.num_bins = 2;
  const SteamPair last = steam_pair(dataset, 2 * (dataset.first_anchor[1] - 1) + 1, 0, binary, 0);
  EXPECT_EQ(last.label, 0);
  EXPECT_EQ(last.first - last.second, 1) << "cut at the end of the episode";
}

TEST_F(SteamStepTest, BothFramesPromptAndOrderOfCamerasMatterAndPaddingDoesNot) {
  const ValueReport report = train_steam(config("a"));
  const auto ensemble = models::open_steam(report.checkpoint);
  models::SteamBatch batch;
  batch.tokens = at::tensor({2, 5, 9, 0, 0, 0}, at::kLong).view({1, 6});
  batch.token_mask = batch.tokens.ne(0);
  batch.cameras.push_back({"left_wrist_0_rgb", at::rand({2, 3, 28, 28}), {}});
  batch.cameras.push_back({"base_0_rgb", at::rand({2, 3, 28, 28}), {}});
  const Tensor before = ensemble->all_logits(batch);
  EXPECT_EQ(before.sizes(), at::IntArrayRef({2, 1, 4}));
  models::SteamBatch padded = batch;
  padded.tokens = at::tensor({2, 5, 9, 7, 7, 7}, at::kLong).view({1, 6});
  EXPECT_TENSOR_NEAR(ensemble->all_logits(padded), before, 1e-6, 1e-6);
  models::SteamBatch swapped = batch;
  std::swap(swapped.cameras[0], swapped.cameras[1]);
  EXPECT_TENSOR_EQUAL(ensemble->all_logits(swapped), before);
  models::SteamBatch reversed = batch;
  for (models::ValueCamera& camera : reversed.cameras) {
    camera.pixels = camera.pixels.flip(0);
  }
  EXPECT_FALSE(at::equal(ensemble->all_logits(reversed), before));
}

}  // namespace
}  // namespace flexor::recap
