#include "nn/checkpoint.h"

#include <ATen/ops/dropout.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nn/autocast.h"
#include "nn/random_fixture.h"
#include "nn/rope.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"
#include "testing/error_text.h"
#include "testing/golden.h"

namespace flexor::nn {
namespace {

using flexor::testing::error_text;
using ::testing::HasSubstr;

struct Outcome {
  Tensor loss, x_grad, w_grad;
};

/// Two layers with dropout and two outputs, of which the second is used by the loss only.
Outcome run(bool checkpointed, bool autocast) {
  auto global = at::globalContext().defaultGenerator(at::kCPU);
  global.set_current_seed(11);
  const Tensor x = random({4, 16}, 1).requires_grad_(), w = random({16, 16}, 2).requires_grad_();
  // A weight for each block: under autocast the two uses of one weight would add up in bfloat16 only without
  // checkpoints.
  const Tensor second_w = random({16, 16}, 3);
  const auto make_block = [](const Tensor& weight) {
    return [weight](const Tensors& in) {
      const Tensor y = at::dropout(at::gelu(at::linear(in[0], weight)), 0.3, /*train=*/true) + in[0];
      return Tensors{y, Tensor(), y.sum()};
    };
  };
  const auto block = make_block(w), second = make_block(second_w);
  Outcome result;
  {
    const AutocastGuard guard(at::kCPU, autocast);
    Tensors out = checkpointed ? checkpoint(block, {x, Tensor()}) : block({x, Tensor()});
    const Tensor extra = out[2];
    out = checkpointed ? checkpoint(second, {out[0], Tensor()}) : second({out[0], Tensor()});
    EXPECT_FALSE(out[1].defined());
    result.loss = out[0].square().mean() + 0.1 * extra;
  }
  result.loss.backward();
  result.x_grad = x.grad();
  result.w_grad = w.grad();
  return result;
}

TEST(Checkpoint, GivesTheSameNumbersToTheLastBit) {
  for (const bool autocast : {false, true}) {
    const Outcome plain = run(false, autocast), again = run(true, autocast);
    EXPECT_TENSOR_EQUAL(again.loss, plain.loss);
    EXPECT_TENSOR_EQUAL(again.x_grad, plain.x_grad);
    EXPECT_TENSOR_EQUAL(again.w_grad, plain.w_grad);
  }
}

TEST(Checkpoint, AFirstBlockWithoutTrainedInputsStillTrainsItsWeights) {
  const Tensor x = random({4, 16}, 1), w = random({16, 16}, 2).requires_grad_();
  checkpoint([w](const Tensors& in) { return Tensors{at::linear(in[0], w)}; }, {x})[0].sum().backward();
  EXPECT_TENSOR_NEAR(w.grad(), x.sum(0).expand({16, 16}), 1e-5, 1e-5);
}

TEST(Checkpoint, ASecondBackwardPassIsRefusedUnlessTheGraphIsKept) {
  const Tensor x = random({4, 16}, 1), w = random({16, 16}, 2).requires_grad_();
  const Tensor checkpointed =
      checkpoint([w](const Tensors& in) { return Tensors{at::linear(in[0], w)}; }, {x})[0].sum();
  const Tensor custom = with_zero_gradient(at::linear(x, w), w).sum();
  for (const Tensor& loss : {checkpointed, custom}) {
    w.mutable_grad() = Tensor();
    loss.backward({}, /*retain_graph=*/true);
    const Tensor once = w.grad().clone();
    loss.backward();
    EXPECT_TENSOR_NEAR(w.grad(), once * 2.0, 1e-6, 1e-6);
    EXPECT_THAT(error_text([&] { loss.backward(); }), HasSubstr("second backward pass"));
  }
}

TEST(CustomGradient, RotationMatchesFiniteDifferences) {
  const Tensor x = random({1, 3, 2, 8}, 1).to(at::kDouble).requires_grad_(),
               weights = random({1, 3, 2, 8}, 2).to(at::kDouble);
  const RopeTable table = rope_table(at::arange(3).unsqueeze(0), 8, at::kDouble, false);
  (apply_rope(x, table) * weights).sum().backward();
  const at::NoGradGuard no_graph;
  for (int64_t i = 0; i < x.numel(); ++i) {
    Tensor up = x.detach().clone(), down = x.detach().clone();
    up.view(-1)[i] += 1e-4;
    down.view(-1)[i] -= 1e-4;
    const Tensor slope = ((apply_rope(up, table) - apply_rope(down, table)) * weights).sum() / 2e-4;
    EXPECT_NEAR(x.grad().view(-1)[i].item<double>(), slope.item<double>(), 1e-6);
  }
}

TEST(ZeroGradient, ReachesTheWeightAndLeavesTheValueAlone) {
  const Tensor x = random({3}, 1).requires_grad_(), w = random({2, 2}, 2).requires_grad_();
  const Tensor y = with_zero_gradient(x, w);
  EXPECT_TENSOR_EQUAL(y, x);
  (y * 2.0).sum().backward();
  EXPECT_TENSOR_EQUAL(w.grad(), at::zeros({2, 2}));
  EXPECT_TENSOR_EQUAL(x.grad(), at::full({3}, 2.0));
}

}  // namespace
}  // namespace flexor::nn
