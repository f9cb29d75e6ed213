#include "nn/fused_ops.h"

#include <ATen/Parallel.h>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

#include "nn/fused_math.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::nn {
namespace {

Tensor random(at::IntArrayRef shape, uint64_t seed, at::ScalarType dtype) {
  return (at::randn(shape, make_generator(seed), at::kFloat) * 3.0).to(dtype);
}

using Op = std::function<Tensor(const Tensor&, const Tensor&)>;

/// Values and both gradients of two forms of one function, the second computed in float64 from the same inputs.
void expect_same(const Op& fused, const Op& plain, const Tensor& a, const Tensor& b, double rtol, double atol) {
  const Tensor a1 = a.clone().requires_grad_(), b1 = b.clone().requires_grad_();
  const Tensor a2 = a.to(at::kDouble).requires_grad_(), b2 = b.to(at::kDouble).requires_grad_();
  const Tensor out = fused(a1, b1), want = plain(a2, b2);
  EXPECT_EQ(out.scalar_type(), a.scalar_type());
  EXPECT_TENSOR_NEAR(out, want, rtol, atol);
  const Tensor weights = random(out.sizes(), 9, a.scalar_type());
  (out * weights).sum().backward();
  (want * weights.to(at::kDouble)).sum().backward();
  EXPECT_TENSOR_NEAR(a1.grad(), a2.grad(), rtol, 10 * atol);
  if (b2.grad().defined()) {
    EXPECT_TENSOR_NEAR(b1.grad(), b2.grad(), rtol, 100 * atol);  // the norm's weight: a sum over all rows
  }
}

const Op kGeglu = [](const Tensor& a, const Tensor& b) { return at::gelu(a, "tanh") * b; };
const Op kGelu = [](const Tensor& a, const Tensor&) { return at::gelu(a, "tanh"); };
const Op kNorm = [](const Tensor& a, const Tensor& b) {
  return a * at::rsqrt(a.square().mean(-1, true) + 1e-6) * (1.0 + b);
};

TEST(FusedOps, EqualTheOperatorsTheyStandFor) {
  for (const int threads : {1, 2}) {
    at::set_num_threads(threads);
    for (const auto dtype : {at::kFloat, at::kBFloat16}) {
      const double rtol = dtype == at::kFloat ? 1e-5 : 1.0 / 128, atol = dtype == at::kFloat ? 2e-6 : 1e-4;
      for (const auto& shape : {std::vector<int64_t>{3, 7}, {1, 1}, {5, 300, 129}}) {
        const Tensor a = random(shape, 1, dtype), b = random(shape, 2, dtype);
        expect_same(fused_geglu, kGeglu, a, b, rtol, atol);
        expect_same([](const Tensor& x, const Tensor&) { return fused_gelu(x); }, kGelu, a, b, rtol, atol);
        const Tensor weight = random({shape.back()}, 3, at::kFloat) * 0.1;
        const double norm_atol = dtype == at::kFloat ? 2e-5 : 1e-2;
        expect_same([](const Tensor& x, const Tensor& w) { return fused_rms_norm(x, w, 1e-6); }, kNorm, a, weight, rtol,
                    norm_atol);
      }
    }
  }
}

TEST(FusedOps, OtherStridesGoThroughTheOperators) {
  const Tensor a = random({6, 4}, 1, at::kFloat).t(), b = random({6, 4}, 2, at::kFloat).t();
  EXPECT_TENSOR_NEAR(fused_geglu(a, b), kGeglu(a, b), 1e-6, 1e-7);
  EXPECT_TENSOR_NEAR(fused_gelu(a), kGelu(a, {}), 1e-6, 1e-7);
  const Tensor weight = random({6}, 3, at::kFloat);
  EXPECT_TENSOR_NEAR(fused_rms_norm(a, weight, 1e-6), kNorm(a, weight), 1e-5, 1e-6);
}

TEST(FusedOps, ExtremeValuesStayFinite) {
  const Tensor x = at::tensor({-1e30, -100.0, -10.0, -0.0, 0.0, 10.0, 100.0, 1e30}, at::kFloat);
  EXPECT_TENSOR_NEAR(fused_gelu(x), at::tensor({0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 100.0, 1e30}, at::kFloat), 1e-6, 1e-8);
}

TEST(FusedMath, ExponentialIsAccurateToAFewUlp) {
  for (float x = -80.0F; x < 80.0F; x += 0.0371F) {
    EXPECT_NEAR(fast_exp(x) / std::exp(static_cast<double>(x)), 1.0, 3e-7) << x;
  }
}

TEST(FusedMath, Bfloat16RoundsLikePyTorch) {
  const Tensor values = random({2000}, 5, at::kFloat), want = values.to(at::kBFloat16).to(at::kFloat);
  for (int64_t i = 0; i < values.numel(); ++i) {
    Bf16Bits bits{};
    store(bits, values[i].item<float>());
    EXPECT_EQ(load(bits), want[i].item<float>());
  }
  Bf16Bits bits{};
  store(bits, std::numeric_limits<float>::quiet_NaN());
  EXPECT_NE(load(bits), load(bits));
  store(bits, std::numeric_limits<float>::infinity());
  EXPECT_EQ(load(bits), std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace flexor::nn
