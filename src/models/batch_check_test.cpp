#include "models/batch_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "base/error.h"
#include "models/golden_fixture.h"
#include "models/masks.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::models {
namespace {

using ::testing::HasSubstr;

std::string complaint(const schema::Batch& batch, const std::string& kind = "pi0") {
  const GoldenPolicy golden = GoldenPolicy::open(kind);
  try {
    check_batch(batch, golden.model->config(), /*training=*/true);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    return format_error(error);
  }
  return "";
}

schema::Batch good() {
  return GoldenPolicy::open("pi0").inputs.batch;
}

TEST(BatchCheck, AcceptsTheGolden) {
  EXPECT_EQ(complaint(good()), "");
}

TEST(BatchCheck, TokensMustFitTheEmbedding) {
  auto batch = good();
  batch.tokens = batch.tokens.clone();
  batch.tokens[1][2] = 512;
  EXPECT_THAT(complaint(batch), HasSubstr("the embedding has 512 rows"));
}

TEST(BatchCheck, MasksMustHaveTheTokensShape) {
  auto batch = good();
  batch.token_mask = batch.token_mask.narrow(1, 0, 3);
  EXPECT_THAT(complaint(batch), HasSubstr("token_mask [B, L] is bool [2, 3], expected bool [2, 12]"));
}

TEST(BatchCheck, CamerasMustBeKnownAndPresent) {
  auto batch = good();
  batch.cameras[0].name = "observation.images.sky";
  EXPECT_THAT(complaint(batch), HasSubstr("camera 'observation.images.sky' is not one of the policy's"));
  batch.cameras.clear();
  EXPECT_THAT(complaint(batch), HasSubstr("no camera is present"));
}

TEST(BatchCheck, PicturesMustHaveThreeChannels) {
  auto batch = good();
  batch.cameras[0].pixels = at::zeros({2, 28, 28, 3});
  EXPECT_THAT(complaint(batch), HasSubstr("pictures have shape [2, 28, 28, 3], expected [2, 3, H, W]"));
}

TEST(BatchCheck, VectorsMustBeShortEnoughAndFinite) {
  auto batch = good();
  batch.state = at::zeros({2, 9});
  EXPECT_THAT(complaint(batch), HasSubstr("state is float32 [2, 9], the policy takes float32 up to [2, 8]"));
  batch = good();
  batch.action = batch.action.clone();
  batch.action[0][3][1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(complaint(batch), HasSubstr("action holds NaN"));
  batch.action = Tensor();
  EXPECT_THAT(complaint(batch), HasSubstr("action is missing"));
}

TEST(BatchCheck, NoiseAndTimeMustFit) {
  GoldenPolicy golden = GoldenPolicy::open("pi05");
  EXPECT_THROW(golden.model->loss(golden.inputs.batch, at::zeros({2, 10, 7}), golden.inputs.at("time")), Error);
  EXPECT_THROW(golden.model->loss(golden.inputs.batch, golden.inputs.at("noise"), at::zeros({3})), Error);
}

TEST(MakePolicy, ContradictingSizesAreAllNamed) {
  auto config = GoldenPolicy::open("pi05").model->config();
  config.architecture->action_expert.depth = 3;
  config.architecture->paligemma.num_kv_heads = 3;
  config.image_resolution = {28, 30};
  try {
    make_policy(config);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kConfig);
    EXPECT_THAT(error.what(),
                ::testing::AllOf(HasSubstr("architecture.action_expert.depth': expected the language model's depth 2"),
                                 HasSubstr("expected a multiple of num_kv_heads 3"), HasSubstr("28 x 30")));
  }
}

TEST(Masks, MatchTheReference) {
  const auto golden = testing::golden("preprocess/preprocess.safetensors");
  const Tensor pad = golden.get("mask.pad"), att = golden.get("mask.att");
  for (int64_t b = 0; b < pad.size(0); ++b) {
    const Tensor rows = attention_rows(att[b].to(at::kFloat), pad.narrow(0, b, 1), 0);
    EXPECT_TENSOR_EQUAL(rows, golden.get("mask.att_2d").narrow(0, b, 1));
    EXPECT_TENSOR_EQUAL(additive_mask(rows), golden.get("mask.att_4d").narrow(0, b, 1));
  }
  EXPECT_TENSOR_EQUAL(position_ids(pad), golden.get("mask.position_ids"));
}

}  // namespace
}  // namespace flexor::models
