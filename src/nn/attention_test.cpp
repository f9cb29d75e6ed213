#include "nn/attention.h"

#include <cmath>
#include <gtest/gtest.h>

#include "nn/random_fixture.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::nn {
namespace {

/// One query head after the other, as the formula says.
Tensor naive(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
  const int64_t H = q.size(2), group = H / k.size(2);
  std::vector<Tensor> heads;
  for (int64_t h = 0; h < H; ++h) {
    const Tensor keys = k.select(2, h / group), values = v.select(2, h / group);  // [B, N, E]
    Tensor scores = at::bmm(q.select(2, h), keys.transpose(1, 2)) / std::sqrt(static_cast<double>(q.size(3)));
    scores = mask.defined() ? scores + mask.squeeze(1) : scores;
    heads.push_back(at::bmm(at::softmax(scores, -1), values));
  }
  return at::cat(heads, -1);
}

struct Case {
  int64_t heads, kv_heads;
  bool rows;  ///< the mask differs from query to query
};

class Attention : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Heads, Attention,
                         ::testing::Values(Case{8, 1, false}, Case{8, 1, true}, Case{4, 2, true}, Case{4, 4, false}));

TEST_P(Attention, EqualsOneHeadAfterTheOther) {
  const auto [H, K, rows] = GetParam();
  const Tensor q = random({2, 5, H, 8}, 1).requires_grad_(), k = random({2, 7, K, 8}, 2).requires_grad_(),
               v = random({2, 7, K, 8}, 3);
  const Tensor hidden = random({2, 1, rows ? 5 : 1, 7}, 4) > 0.8;
  const Tensor mask = at::where(hidden, -2.38e38, 0.0).to(at::kFloat);
  const Tensor want = naive(q, k, v, mask), weights = random(want.sizes(), 5);
  (want * weights).sum().backward();
  const Tensor q_grad = q.grad().clone(), k_grad = k.grad().clone();
  for (const bool fused : {false, true}) {
    q.mutable_grad() = k.mutable_grad() = Tensor();
    const Tensor out = attend(q, k, v, mask, fused);
    EXPECT_TENSOR_NEAR(out, want, 1e-5, 1e-6);
    (out * weights).sum().backward();
    EXPECT_TENSOR_NEAR(q.grad(), q_grad, 1e-4, 1e-6);
    EXPECT_TENSOR_NEAR(k.grad(), k_grad, 1e-4, 1e-6);
    EXPECT_TENSOR_NEAR(attend(q, k, v, {}, fused), naive(q, k, v, {}), 1e-5, 1e-6);
  }
}

TEST(Attention, Bfloat16WithFewAndWithManyScoresRoundsTheSameResult) {
  for (const int64_t tokens : {9, 1500}) {  // 1500 * 1500 * 8 scores are more than are kept
    const Tensor q = random({1, tokens, 8, 16}, 1), k = random({1, tokens, 1, 16}, 2),
                 v = random({1, tokens, 1, 16}, 3);
    Tensor mask = at::zeros({1, 1, 1, tokens});
    mask.narrow(3, 0, 3).fill_(-2.3819763e38);
    const Tensor want = attend(q, k, v, mask, /*fused=*/true);
    const Tensor got = attend(q.to(at::kBFloat16), k.to(at::kBFloat16), v.to(at::kBFloat16), mask, /*fused=*/true);
    EXPECT_EQ(got.scalar_type(), at::kBFloat16);
    EXPECT_TRUE(testing::tensor_close_on_average(got, want, 5e-3, 0.1));
  }
}

TEST(Attention, ARowThatSeesNothingIsUniformNotNan) {
  const Tensor q = random({1, 2, 2, 4}, 1), k = random({1, 3, 1, 4}, 2), v = random({1, 3, 1, 4}, 3);
  const Tensor mask = at::full({1, 1, 2, 3}, -2.3819763e38, at::kFloat);
  const Tensor uniform = v.mean(1).expand({2, 2, 4}).reshape({1, 2, 8});
  for (const bool fused : {false, true}) {
    EXPECT_TENSOR_NEAR(attend(q, k, v, mask, fused), uniform, 1e-5, 1e-6);
  }
}

}  // namespace
}  // namespace flexor::nn
