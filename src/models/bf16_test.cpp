// dtype=bfloat16 as LeRobot lays it out: parts of the model in bfloat16, with its roundings, and under autocast.
#include <gtest/gtest.h>

#include "models/golden_fixture.h"
#include "nn/named_params.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::models {
namespace {

class Bf16 : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Golden, Bf16, ::testing::Values("pi0", "pi05"),
                         kind_of<::testing::TestParamInfo<std::string>>);

double loss_of(const LossOutput& out) {
  return out.loss.item<double>();
}

double grad_norm(PolicyModel& model) {
  double sum = 0;
  nn::for_each_param(model, [&](const std::string&, Tensor& p) {
    sum += p.grad().defined() ? p.grad().to(at::kDouble).square().sum().item<double>() : 0.0;
  });
  return std::sqrt(sum);
}

TEST_P(Bf16, ParametersHaveTheDtypesOfTheReference) {
  GoldenPolicy golden = GoldenPolicy::open(GetParam(), "bfloat16");
  const Json& dtypes = golden.meta.at("bf16_param_dtypes");
  for (const auto& [name, parameter] : nn::named_params(*golden.model)) {
    EXPECT_EQ(dtype_name(parameter.scalar_type()), dtypes.at("model." + name).as_string()) << name;
  }
}

TEST_P(Bf16, ExplicitAttentionRoundsAsTheReference) {
  GoldenPolicy golden = GoldenPolicy::open(GetParam(), "bfloat16", without_savings(/*fused=*/false));
  const auto taps = record([&] { golden.loss().loss.backward(); });
  for (const char* name : {"layer_first.prefix", "layer_first.suffix"}) {
    EXPECT_TRUE(testing::tensor_close_on_average(taps.at(name), golden.want(str_cat("bf16.", name)), 1e-3, 2e-2))
        << name;
  }
  for (const char* name : {"layer_last.prefix", "layer_last.suffix"}) {  // a flipped rounding grows on its way through
    EXPECT_TRUE(testing::tensor_close_on_average(taps.at(name), golden.want(str_cat("bf16.", name)), 4e-3, 0.1))
        << name;
  }
  for (const char* name : {"vision_tower.0", "image_features.0", "prefix_embs", "suffix_embs"}) {
    EXPECT_TENSOR_NEAR(taps.at(name), golden.want(str_cat("bf16.", name)), 1e-4, 2e-5) << name;
  }
  for (const char* name : {"suffix_out", "v_t"}) {
    EXPECT_TRUE(testing::tensor_close_on_average(taps.at(name), golden.want(str_cat("bf16.", name)), 2e-3, 2e-2))
        << name;
  }
  const double want = golden.want("bf16.loss").item<double>();
  EXPECT_NEAR(taps.at("loss").item<double>(), want, 2e-3 * want);
  const double norm = golden.want("bf16.grad_norm_total").item<double>();
  EXPECT_NEAR(grad_norm(*golden.model), norm, 3e-2 * norm);
}

double mean_distance(const Tensor& a, const Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().mean().item<double>();
}

// The fused kernel keeps scores and weights in float32 where the reference rounds them to bfloat16, so the two differ
// by such roundings; what can be asked is that it is no further from the float32 results than the reference is.
TEST_P(Bf16, FusedAttentionIsAsCloseToFloat32AsTheReference) {
  const GoldenPolicy exact = GoldenPolicy::open(GetParam());
  for (const bool savings : {false, true}) {
    GoldenPolicy golden = GoldenPolicy::open(GetParam(), "bfloat16", {.exact_savings = savings});
    const auto taps = record([&] {
      golden.loss().loss.backward();
      golden.sample();
    });
    for (const char* name : {"v_t", "sampled_actions"}) {
      const Tensor float32 = exact.want(name), reference = golden.want(str_cat("bf16.", name));
      EXPECT_LE(mean_distance(taps.at(name), float32), 1.1 * mean_distance(reference, float32)) << name;
    }
    const double want = golden.want("bf16.loss").item<double>();
    EXPECT_NEAR(taps.at("loss").item<double>(), want, 2e-3 * want);
    const double norm = golden.want("bf16.grad_norm_total").item<double>();
    EXPECT_NEAR(grad_norm(*golden.model), norm, 3e-2 * norm);
  }
}

TEST_P(Bf16, ActionsMatchTheReference) {
  GoldenPolicy golden = GoldenPolicy::open(GetParam(), "bfloat16", without_savings(/*fused=*/false));
  const auto taps = record([&] { golden.sample(); });
  for (const char* name : {"sampled_actions", "predict_action_chunk", "sample_v.0", "sample_v.9", "sample_x.5"}) {
    EXPECT_TRUE(testing::tensor_close_on_average(taps.at(name), golden.want(str_cat("bf16.", name)), 1e-3, 1e-2))
        << name;
  }
  SampleOptions four;
  four.num_steps = 4;
  EXPECT_TRUE(
      testing::tensor_close_on_average(golden.sample(four), golden.want("bf16.sampled_actions_4steps"), 1e-3, 1e-2));
}

TEST_P(Bf16, ExactRopeFrequenciesAreASwitch) {
  ComputeOptions options = without_savings(/*fused=*/false);
  options.reference_rope = false;
  GoldenPolicy golden = GoldenPolicy::open(GetParam(), "bfloat16", options);
  const auto taps = record([&] { golden.loss(); });
  EXPECT_FALSE(testing::tensor_close_on_average(taps.at("layer_first.prefix"), golden.want("bf16.layer_first.prefix"),
                                                1e-3, 1.0));
}

TEST_P(Bf16, AutocastMatchesTheReference) {
  ComputeOptions options = without_savings(/*fused=*/false);
  options.autocast = true;
  GoldenPolicy golden = GoldenPolicy::open(GetParam(), "bfloat16", options);
  const auto taps = record([&] { golden.loss().loss.backward(); });
  EXPECT_EQ(taps.at("v_t").scalar_type(), at::kBFloat16);
  EXPECT_TRUE(testing::tensor_close_on_average(taps.at("v_t"), golden.want("bf16_autocast.v_t"), 1e-2, 0.05));
  const double want = golden.want("bf16_autocast.loss").item<double>();
  EXPECT_NEAR(taps.at("loss").item<double>(), want, 1e-2 * want);
  const double norm = golden.want("bf16_autocast.grad_norm_total").item<double>();
  EXPECT_NEAR(grad_norm(*golden.model), norm, 3e-2 * norm);
}

TEST_P(Bf16, Float32WeightsUnderAutocastComputeAlmostTheSame) {
  GoldenPolicy golden = GoldenPolicy::open(GetParam(), "bfloat16");
  auto config = golden.model->config();
  config.dtype = "bfloat16_autocast";
  golden.model = make_policy(config);
  load_weights(*golden.model, golden.folder);
  set_trainable(*golden.model);
  for (const auto& [name, parameter] : nn::named_params(*golden.model)) {
    EXPECT_EQ(parameter.scalar_type(), at::kFloat) << name;
  }
  const LossOutput out = golden.loss();
  out.loss.backward();
  const double want = golden.want("bf16_autocast.loss").item<double>();
  EXPECT_NEAR(loss_of(out), want, 1e-2 * want);
}

}  // namespace
}  // namespace flexor::models
