#include "recap/categorical.h"

#include <ATen/ops/log_softmax.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "recap/value_metrics.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::recap {
namespace {

Tensor tensor_of(const Json& json) {
  const Json::Array& rows = json.as_array();
  const Tensor flat = at::tensor(json.as_numbers(), at::kDouble).to(at::kFloat);
  return rows.front().is_array() ? flat.view({static_cast<int64_t>(rows.size()), -1}) : flat;
}

TEST(Categorical, LossGradientAndTargetsAreTheReferences) {
  const Json cases = Json::read_file(testing::tests_path("golden/recap_value/categorical.json"));
  for (const Json& c : cases.as_array()) {
    const Bins bins{c.at("num_bins").as_int(), c.at("v_min").as_double(), c.at("v_max").as_double()};
    Tensor logits = tensor_of(c.at("logits"));
    logits.set_requires_grad(true);
    const Tensor targets = tensor_of(c.at("targets"));
    const Tensor losses = categorical_losses(logits, targets, bins);
    EXPECT_TENSOR_NEAR(losses.detach(), tensor_of(c.at("per_sample_loss")), 1e-5, 1e-5);
    EXPECT_NEAR(losses.mean().item<double>(), c.at("loss_mean").as_double(), 1e-5);
    losses.sum().backward();
    EXPECT_TENSOR_NEAR(logits.grad(), tensor_of(c.at("grad_logits_of_sum")), 1e-5, 2e-6);
    EXPECT_TENSOR_NEAR(two_hot(targets, bins), tensor_of(c.at("target_probs_from_grad")), 0.0, 2e-6);
  }
}

TEST(Categorical, TargetsStandOnTheirTwoNeighbours) {
  const Bins bins{11, -1.0, 0.0};
  const Tensor weights = two_hot(at::tensor({-0.53F, -1.7F, 0.4F, -0.5F}), bins);
  EXPECT_TENSOR_NEAR(weights[0].narrow(0, 4, 2), at::tensor({0.3F, 0.7F}), 0.0, 1e-5);
  EXPECT_EQ(weights[1][0].item<float>(), 1.0F);
  EXPECT_EQ(weights[2][10].item<float>(), 1.0F);
  EXPECT_TENSOR_NEAR(weights.sum(1), at::ones({4}), 0.0, 1e-6);
}

TEST(Categorical, SizesThatDisagreeAreAnError) {
  EXPECT_THROW(categorical_losses(at::zeros({2, 11}), at::zeros({3}), {11, -1.0, 0.0}), Error);
  EXPECT_THROW(categorical_losses(at::zeros({3, 10}), at::zeros({3}), {11, -1.0, 0.0}), Error);
}

}  // namespace
}  // namespace flexor::recap
