#include <gtest/gtest.h>

#include "models/golden_fixture.h"
#include "nn/named_params.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::models {
namespace {

constexpr double kForwardRtol = 1e-4, kForwardAtol = 2e-5;
constexpr double kGradRtol = 1e-3, kGradAtol = 2e-5;

std::map<std::string, Tensor> gradients(PolicyModel& model) {
  std::map<std::string, Tensor> grads;
  nn::for_each_param(model, [&](const std::string& name, Tensor& p) {
    if (p.grad().defined()) {
      grads[name] = p.grad();
    }
  });
  return grads;
}

double total_norm(const std::map<std::string, Tensor>& grads) {
  double sum = 0;
  for (const auto& [name, grad] : grads) {
    sum += grad.to(at::kDouble).square().sum().item<double>();
  }
  return std::sqrt(sum);
}

/// Compares every stored gradient, every norm, and which parameters have a zero gradient or none.
void expect_gradients(GoldenPolicy& golden) {
  const auto grads = gradients(*golden.model);
  for (const auto& entry : golden.expected.entries()) {
    if (entry.name.starts_with("grad.")) {
      SCOPED_TRACE(entry.name);
      const auto found = grads.find(entry.name.substr(5));
      ASSERT_NE(found, grads.end());
      EXPECT_TENSOR_NEAR(found->second, golden.want(entry.name), kGradRtol, kGradAtol);
    }
  }
  const auto& norms = golden.meta.at("grad_norms").as_object();
  EXPECT_EQ(norms.size(), nn::named_params(*golden.model).size());
  for (const auto& [name, norm] : norms) {
    SCOPED_TRACE(name);
    const auto found = grads.find(name);
    EXPECT_EQ(found == grads.end(), norm.is_null());
    if (found != grads.end() && !norm.is_null()) {
      EXPECT_NEAR(found->second.norm().item<double>(), norm.as_double(), 1e-3 * norm.as_double() + 2e-5);
      if (norm.as_double() == 0.0) {
        EXPECT_EQ(found->second.abs().max().item<double>(), 0.0);
      }
    }
  }
  const double want = golden.want("grad_norm_total").item<double>();
  EXPECT_NEAR(total_norm(grads), want, 1e-3 * want);
}

/// Whether a golden tensor belongs to the training forward; the others have tests of their own.
bool is_forward(const std::string& name) {
  for (const char* other : {"grad", "train_", "freeze_", "kv_cache.", "sample", "predict_", "rtc."}) {
    if (name.starts_with(other)) {
      return false;
    }
  }
  return true;
}

class Loss : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Golden, Loss, ::testing::Values("pi0", "pi05"),
                         kind_of<::testing::TestParamInfo<std::string>>);

TEST_P(Loss, ParametersComeInTheOrderOfTheReference) {
  const GoldenPolicy golden = GoldenPolicy::open(GetParam());
  const auto params = nn::named_params(*golden.model);
  const auto& names = golden.meta.at("grad_norms").as_object();
  ASSERT_EQ(params.size(), names.size());
  for (size_t i = 0; i < params.size(); ++i) {
    EXPECT_EQ(params[i].first, names[i].first) << "index " << i;
  }
  EXPECT_EQ(nn::count_params(*golden.model), golden.meta.at("param_count").as_int());
}

TEST_P(Loss, EveryForwardTensorMatchesTheReference) {
  for (const bool fused : {false, true}) {
    GoldenPolicy golden = GoldenPolicy::open(GetParam(), "float32", without_savings(fused));
    const auto taps = record([&] { golden.loss(); });
    for (const auto& entry : golden.expected.entries()) {
      if (!is_forward(entry.name)) {
        continue;
      }
      SCOPED_TRACE(entry.name);
      ASSERT_TRUE(taps.contains(entry.name));
      const bool exact = entry.dtype == at::kBool || entry.dtype == at::kLong || entry.name == "att_masks";
      EXPECT_TENSOR_NEAR(taps.at(entry.name), golden.want(entry.name), exact ? 0.0 : kForwardRtol,
                         exact ? 0.0 : kForwardAtol);
    }
  }
}

TEST_P(Loss, GradientsMatchTheReference) {
  for (const bool fused : {false, true}) {
    GoldenPolicy golden = GoldenPolicy::open(GetParam(), "float32", without_savings(fused));
    golden.loss().loss.backward();
    expect_gradients(golden);
  }
}

TEST_P(Loss, SavingsChangeNeitherLossNorGradients) {
  for (const bool fused : {false, true}) {
    GoldenPolicy golden = GoldenPolicy::open(GetParam(), "float32", {.exact_savings = true, .fused_attention = fused});
    const LossOutput out = golden.loss();
    EXPECT_TENSOR_NEAR(out.loss, golden.want("loss"), kForwardRtol, kForwardAtol);
    EXPECT_TENSOR_NEAR(out.per_sample, golden.want("loss_per_sample"), kForwardRtol, kForwardAtol);
    EXPECT_TENSOR_NEAR(out.per_dim, golden.want("loss_per_dim"), kForwardRtol, kForwardAtol);
    out.loss.backward();
    expect_gradients(golden);
  }
}

TEST_P(Loss, CheckpointingGivesTheSameGradients) {
  GoldenPolicy golden = GoldenPolicy::open(GetParam(), "float32", {.gradient_checkpointing = true});
  const LossOutput out = golden.loss();
  EXPECT_TENSOR_NEAR(out.loss, golden.want("gradient_checkpointing.loss"), kForwardRtol, kForwardAtol);
  out.loss.backward();
  expect_gradients(golden);
}

TEST_P(Loss, FrozenPartsHaveNoGradientAndChangeNothingElse) {
  for (const std::string option : {"freeze_vision_encoder", "train_expert_only"}) {
    for (const bool checkpointing : {false, true}) {
      SCOPED_TRACE(option);
      GoldenPolicy golden = GoldenPolicy::open(GetParam(), "float32", {.gradient_checkpointing = checkpointing});
      auto config = golden.model->config();
      config.freeze_vision_encoder = option == "freeze_vision_encoder";
      config.train_expert_only = option == "train_expert_only";
      golden.model = make_policy(config, golden.model->options());
      load_weights(*golden.model, golden.folder);
      set_trainable(*golden.model);
      const LossOutput out = golden.loss();
      EXPECT_TENSOR_NEAR(out.loss, golden.want(option + ".loss"), kForwardRtol, kForwardAtol);
      out.loss.backward();
      const auto grads = gradients(*golden.model);
      const double want = golden.want(option + ".grad_norm_total").item<double>();
      EXPECT_NEAR(total_norm(grads), want, 1e-3 * want);
      std::vector<std::string> names;
      for (const auto& [name, grad] : grads) {
        names.push_back(name);
      }
      EXPECT_EQ(names, golden.meta.at(option + ".params_with_grad").as_strings());
    }
  }
}

}  // namespace
}  // namespace flexor::models
