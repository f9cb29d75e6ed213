#include "dist/flat_unit.h"

#include <gtest/gtest.h>

#include "tensor/absent.h"
#include "tensor/tensor.h"

namespace flexor::dist {
namespace {

struct Model {
  Tensor weight = at::arange(200, at::kFloat).view({10, 20}).set_requires_grad(true);
  Tensor bias = at::full({3}, 7.0).set_requires_grad(true);

  std::vector<ParamPlace> places() { return {{"weight", &weight}, {"bias", &bias, 1}}; }
};

FlatUnit make_unit(Model& model, FlatOptions options) {
  const auto group = join_group({}, {});
  return {model.places(), options, {.weights = group, .gradients = group}, *group};
}

TEST(FlatUnit, ParametersBecomeAlignedViewsOfOneBuffer) {
  Model model;
  const FlatUnit unit = make_unit(model, {});
  EXPECT_EQ(unit.parts()[1].first, 256);  // 200 values of 4 bytes, rounded up to 512 bytes
  EXPECT_EQ(unit.shard_size(), 256 + 128);
  EXPECT_TRUE(model.weight.is_leaf() && model.weight.requires_grad());
  EXPECT_EQ(model.weight.storage().unsafeGetStorageImpl(), model.bias.storage().unsafeGetStorageImpl());
  EXPECT_TRUE(at::equal(model.weight, at::arange(200, at::kFloat).view({10, 20})));
  EXPECT_TRUE(at::equal(model.bias, at::full({3}, 7.0)));
}

TEST(FlatUnit, SharesCutParametersAnywhere) {
  Model model;
  const FlatUnit unit = make_unit(model, {});
  const FlatUnit::Part& weight = unit.parts()[0];
  EXPECT_EQ(unit.range_of(weight, 0).count, 200);
  EXPECT_EQ(unit.range_of(weight, 1).count, 0);
  EXPECT_EQ(unit.share_of(unit.parts()[1]).values.numel(), 3);
  EXPECT_EQ(unit.share_of(unit.parts()[1]).shape, std::vector<int64_t>{3});
}

TEST(FlatUnit, ReleasedWeightsComeBackForTensorsThatAutogradHasSaved) {
  Model model;
  FlatUnit unit = make_unit(model, {.shard_weights = true});
  EXPECT_TRUE(is_absent(model.weight) && is_absent(model.bias));
  unit.start_gather();
  unit.wait_gather();
  const Tensor x = at::ones({1, 20}).set_requires_grad(true), y = at::linear(x, model.weight);
  const Tensor expected = model.weight.detach().sum(0, /*keepdim=*/true).clone();
  unit.release();
  EXPECT_TRUE(is_absent(model.weight));
  unit.start_gather();
  y.sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), expected));
}

TEST(FlatUnit, GradientsOfSeveralPassesAddUp) {
  for (const bool keep : {true, false}) {
    Model model;
    FlatUnit unit = make_unit(model, {.keep_gradients = keep});
    for (int step = 0; step < 2; ++step) {
      for (int pass = 0; pass < 2; ++pass) {
        Tensor grad = at::full({10, 20}, 1.5);
        unit.add_gradient(0, grad);
        EXPECT_FALSE(grad.defined());
        if (!keep || pass == 1) {
          unit.start_reduce();
          unit.finish_reduce();
        }
      }
      unit.finish_step();
      EXPECT_TRUE(at::equal(unit.gradient_of(unit.parts()[0]), at::full({200}, 3.0))) << keep << step;
      EXPECT_TRUE(at::equal(unit.gradient_of(unit.parts()[1]), at::zeros({3}))) << keep << step;
      unit.drop_gradients();
      EXPECT_FALSE(unit.has_gradients());
    }
  }
}

}  // namespace
}  // namespace flexor::dist
