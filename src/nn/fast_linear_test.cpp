#include "nn/fast_linear.h"

#include <gtest/gtest.h>

#include "nn/autocast.h"
#include "nn/random_fixture.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::nn {
namespace {

TEST(FastLinear, EqualsLinearWithItsGradients) {
  for (const bool with_bias : {false, true}) {
    for (const int64_t rows : {1, 40}) {
      const Tensor x = random({2, rows, 12}, 1).requires_grad_(), w = random({20, 12}, 2).requires_grad_();
      const Tensor b = with_bias ? random({20}, 3).requires_grad_() : Tensor(), weights = random({2, rows, 20}, 4);
      const Tensor want = at::linear(x, w, b);
      (want * weights).sum().backward();
      const Tensor x_grad = x.grad().clone(), w_grad = w.grad().clone(),
                   b_grad = with_bias ? b.grad().clone() : Tensor();
      x.mutable_grad() = w.mutable_grad() = Tensor();
      const Tensor got = fast_linear(x, w, b);
      EXPECT_TENSOR_NEAR(got, want, 1e-5, 1e-5);
      (got * weights).sum().backward();
      EXPECT_TENSOR_NEAR(x.grad(), x_grad, 1e-5, 1e-5);
      EXPECT_TENSOR_NEAR(w.grad(), w_grad, 1e-5, 1e-4);
      if (with_bias) {
        EXPECT_TENSOR_NEAR(b.grad(), 2.0 * b_grad, 1e-5, 1e-4);  // added to the first
      }
    }
  }
}

TEST(FastLinear, FrozenWeightsGetNoGradient) {
  const Tensor x = random({40, 12}, 1).requires_grad_(), w = random({20, 12}, 2);
  fast_linear(x, w, {}).sum().backward();
  EXPECT_TENSOR_NEAR(x.grad(), w.sum(0).expand({40, 12}), 1e-5, 1e-5);
  EXPECT_FALSE(w.grad().defined());
}

TEST(FastLinear, AutocastAndBfloat16GoTheirOwnWay) {
  const Tensor x = random({40, 12}, 1), w = random({20, 12}, 2);
  EXPECT_EQ(fast_linear(x.to(at::kBFloat16), w.to(at::kBFloat16), {}).scalar_type(), at::kBFloat16);
  const AutocastGuard guard(at::kCPU, /*enabled=*/true);
  EXPECT_EQ(fast_linear(x, w, {}).scalar_type(), at::kBFloat16);
}

}  // namespace
}  // namespace flexor::nn
