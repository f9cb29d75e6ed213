// The small blocks against what the reference computes (tests/golden/preprocess).
#include <gtest/gtest.h>
#include <string>

#include "base/str_cat.h"
#include "nn/resize_with_pad.h"
#include "nn/rms_norm.h"
#include "nn/rope.h"
#include "nn/time_embedding.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::nn {
namespace {

constexpr double kRtol = 1e-5, kAtol = 1e-5;

SafetensorsFile reference() {
  return testing::golden("preprocess/preprocess.safetensors");
}

TEST(Reference, RmsNorm) {
  const auto golden = reference();
  const RmsNorm norm{.weight = golden.get("rmsnorm.weight"), .dense = {}};
  EXPECT_TENSOR_NEAR(norm(golden.get("rmsnorm.x"), {}).y, golden.get("rmsnorm.y"), kRtol, kAtol);
  EXPECT_TENSOR_EQUAL(norm(golden.get("rmsnorm.x").to(at::kBFloat16), {}).y, golden.get("rmsnorm.bf16.y"));
}

TEST(Reference, AdaptiveRmsNorm) {
  const auto golden = reference();
  RmsNorm norm;
  norm.dense.weight = golden.get("adarms.dense.weight");
  norm.dense.bias = golden.get("adarms.dense.bias");
  const Tensor modulation = norm.modulation(golden.get("adarms.cond")), x = golden.get("rmsnorm.x");
  const Normed out = norm(x, modulation), low = norm(x.to(at::kBFloat16), modulation);
  EXPECT_TENSOR_NEAR(out.y, golden.get("adarms.y"), kRtol, kAtol);
  EXPECT_TENSOR_NEAR(out.gate, golden.get("adarms.gate"), kRtol, kAtol);
  EXPECT_TENSOR_NEAR(low.y, golden.get("adarms.bf16.y"), 1.0 / 256, 1e-6);  // one rounding to bfloat16
  EXPECT_TENSOR_NEAR(low.gate, golden.get("adarms.bf16.gate"), 1.0 / 256, 1e-6);
}

TEST(Reference, RotaryEmbedding) {
  const auto golden = reference();
  const RopeTable table = rope_table(golden.get("rope.position_ids"), 256, at::kFloat, /*round_frequency=*/false);
  EXPECT_TENSOR_NEAR(table.cos.squeeze(2), golden.get("rope.cos").narrow(2, 0, 128), kRtol, kAtol);
  EXPECT_TENSOR_NEAR(table.sin.squeeze(2), golden.get("rope.sin").narrow(2, 0, 128), kRtol, kAtol);
  const RopeTable low = rope_table(golden.get("rope.position_ids"), 256, at::kBFloat16, /*round_frequency=*/false);
  for (const std::string name : {"q", "k"}) {
    const Tensor x = golden.get(str_cat("rope.", name)).transpose(1, 2);  // [B, L, H, E]
    const Tensor want = golden.get(str_cat("rope.", name, "_out")),
                 want_low = golden.get(str_cat("rope.bf16.", name, "_out"));
    EXPECT_TENSOR_NEAR(apply_rope(x, table).transpose(1, 2), want, kRtol, kAtol);
    EXPECT_TENSOR_EQUAL(apply_rope(x.to(at::kBFloat16), low).transpose(1, 2), want_low);
  }
}

TEST(Reference, TimeEmbedding) {
  const auto golden = reference();
  for (const int64_t width : {16, 64, 256}) {
    const Tensor want = golden.get(str_cat("sincos.", width, ".f32"));
    EXPECT_TENSOR_NEAR(time_embedding(golden.get("sincos.time"), width, 4e-3, 4.0), want, kRtol, kAtol);
  }
}

TEST(Reference, ResizeWithPad) {
  const auto golden = reference();
  for (int i = 0; i < 7; ++i) {
    const Tensor want = golden.get(str_cat("resize.", i, ".out_f32"));
    const int64_t height = want.size(2), width = want.size(3);
    EXPECT_TENSOR_NEAR(resize_with_pad(golden.get(str_cat("resize.", i, ".in_f32")), height, width), want, kRtol,
                       kAtol);
    const Tensor bytes = golden.get(str_cat("resize.", i, ".in_u8"));
    const Tensor levels =
        resize_with_pad(bytes, height, width).to(at::kInt) - golden.get(str_cat("resize.", i, ".out_u8")).to(at::kInt);
    EXPECT_LE(levels.abs().max().item<int>(), 1);
    EXPECT_LE(levels.ne(0).to(at::kDouble).mean().item<double>(), 0.001);
    const Tensor input = resize_with_pad(bytes.to(at::kFloat) / 255.0, height, width) * 2.0 - 1.0;
    EXPECT_TENSOR_NEAR(input, golden.get(str_cat("resize.", i, ".model_input_from_u8")), kRtol, kAtol);
  }
}

}  // namespace
}  // namespace flexor::nn
