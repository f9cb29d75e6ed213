#include "optim/adamw.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "optim/ema.h"
#include "optim/optimizer_state.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::optim {
namespace {

using Named = std::vector<std::pair<std::string, Tensor>>;

Tensor param(uint64_t seed, at::IntArrayRef shape, at::ScalarType dtype = at::kFloat) {
  at::Generator generator = make_generator(seed);
  return at::randn(shape, generator).to(dtype).set_requires_grad(true);
}
void set_grad(Tensor& p, uint64_t seed) {
  p.mutable_grad() = param(seed, p.sizes()).detach().to(p.scalar_type());
}

/// The update rule as the paper states it, in float64.
struct Naive {
  Tensor p, m, v;
  int64_t k = 0;
  explicit Naive(const Tensor& start)
      : p(start.detach().to(at::kDouble).clone()), m(at::zeros_like(p)), v(at::zeros_like(p)) {}
  void step(const Tensor& grad, const AdamWConfig& c, double lr) {
    ++k;
    const Tensor g = grad.to(at::kDouble);
    p = p * (1 - lr * c.weight_decay);
    m = m * c.betas[0] + g * (1 - c.betas[0]);
    v = v * c.betas[1] + g * g * (1 - c.betas[1]);
    const Tensor m_hat = m / (1 - std::pow(c.betas[0], k)), v_hat = v / (1 - std::pow(c.betas[1], k));
    p = p - lr * m_hat / (v_hat.sqrt() + c.eps);
  }
};

TEST(AdamW, FollowsTheRuleOfThePaper) {
  Tensor p = param(1, {5, 7});
  const AdamWConfig config{.lr = 1e-2};
  AdamW optimizer({{"p", p}}, config);
  Naive naive(p);
  for (uint64_t k = 0; k < 4; ++k) {
    set_grad(p, 10 + k);
    naive.step(p.grad(), config, 1e-2 / (1.0 + k));
    optimizer.step(1e-2 / (1.0 + k));
    optimizer.zero_grad();
  }
  EXPECT_TENSOR_NEAR(p.detach(), naive.p, 1e-5, 1e-6);
}

TEST(AdamW, SkipsAParameterWithoutGradientAndDecaysOneWithAZeroGradient) {
  Tensor without = param(1, {4}), zero = param(2, {4});
  const Tensor before_without = without.detach().clone(), before_zero = zero.detach().clone();
  AdamW optimizer({{"without", without}, {"zero", zero}}, {.weight_decay = 0.5});
  zero.mutable_grad() = at::zeros({4});
  optimizer.step(0.1);
  EXPECT_TENSOR_EQUAL(without.detach(), before_without);
  EXPECT_TENSOR_NEAR(zero.detach(), before_zero * 0.95, 1e-6, 0);
  EXPECT_FALSE(optimizer.slots()[0].exp_avg.defined());
}

TEST(AdamW, ClipsByTheGlobalNormAndReportsItBeforeClipping) {
  Tensor a = param(1, {3}), b = param(2, {2, 2});
  a.mutable_grad() = at::full({3}, 2.0);
  b.mutable_grad() = at::full({2, 2}, 1.0);
  AdamW optimizer({{"a", a}, {"b", b}}, {.grad_clip_norm = 1.0});
  EXPECT_NEAR(optimizer.clip_grads(), 4.0, 1e-6);
  EXPECT_NEAR(optimizer.clip_grads(), 1.0, 1e-5);
  a.mutable_grad() = at::full({3}, 0.1);
  b.mutable_grad().reset();
  optimizer.clip_grads();
  EXPECT_TENSOR_EQUAL(a.grad(), at::full({3}, 0.1));  // below the limit nothing changes
}

TEST(AdamW, UpdatesBfloat16ThroughItsFloat32Master) {
  Tensor p = param(1, {64}, at::kBFloat16);
  AdamW optimizer({{"p", p}}, {.lr = 1e-5, .weight_decay = 0.0});
  Naive naive(p);
  for (uint64_t k = 0; k < 20; ++k) {  // steps far below bfloat16's resolution add up in the master
    set_grad(p, 5);
    naive.step(p.grad(), optimizer.config(), 1e-5);
    optimizer.collect_grads();
    EXPECT_FALSE(p.grad().defined());
    optimizer.step(1e-5);
    optimizer.zero_grad();
  }
  EXPECT_TENSOR_NEAR(optimizer.slots()[0].master, naive.p, 1e-6, 1e-7);
  EXPECT_TENSOR_EQUAL(p.detach(), optimizer.slots()[0].master.to(at::kBFloat16));
  EXPECT_EQ(optimizer.slots()[0].exp_avg.scalar_type(), at::kFloat);
}

TEST(AdamW, KeepsBfloat16MomentsWithoutMasterAsLeRobotDoes) {
  Tensor p = param(1, {8}, at::kBFloat16);
  AdamW optimizer({{"p", p}}, {.master_dtype = "none"});
  set_grad(p, 2);
  optimizer.collect_grads();
  optimizer.step(0.1);
  EXPECT_EQ(optimizer.slots()[0].exp_avg.scalar_type(), at::kBFloat16);
  EXPECT_FALSE(optimizer.slots()[0].master.defined());
}

TEST(AdamW, SumsTheGradientsOfMicroBatchesInFloat32) {
  Tensor p = param(1, {64}, at::kBFloat16);
  AdamW optimizer({{"p", p}}, {});
  Tensor sum = at::zeros({64});
  for (uint64_t k = 0; k < 3; ++k) {
    set_grad(p, 20 + k);
    sum = sum + p.grad().to(at::kFloat);
    optimizer.collect_grads();
  }
  EXPECT_TENSOR_EQUAL(optimizer.slots()[0].grad32, sum);
}

class OptimizerState : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "optimizer_state";
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(OptimizerState, ContinuesBitForBitAfterSavingAndLoading) {
  Tensor a = param(1, {3, 2}), never = param(2, {2}), twin = a.detach().clone().set_requires_grad(true);
  AdamW first({{"a", a}, {"never", never}}, {});
  for (uint64_t k = 0; k < 3; ++k) {
    set_grad(a, k);
    first.step(1e-2);
  }
  save_optimizer(first, 1e-2, folder_);
  twin.detach().copy_(a.detach());
  AdamW second({{"a", twin}, {"never", never}}, {});
  load_optimizer(second, folder_);
  set_grad(a, 9);
  set_grad(twin, 9);
  first.step(1e-2);
  second.step(1e-2);
  EXPECT_TENSOR_EQUAL(a.detach(), twin.detach());
  EXPECT_EQ(SafetensorsFile::open(folder_ + "/optimizer_state.safetensors").entries().size(), 3u);
  EXPECT_EQ(Json::read_file(folder_ + "/optimizer_param_groups.json").as_array()[0].at("params").size(), 2u);
}

TEST_F(OptimizerState, OfAnotherModelIsAnError) {
  Tensor a = param(1, {3, 2}), other = param(1, {2, 2});
  AdamW first({{"a", a}}, {});
  set_grad(a, 1);
  first.step(1e-2);
  save_optimizer(first, 1e-2, folder_);
  AdamW second({{"a", other}}, {});
  EXPECT_THROW(load_optimizer(second, folder_), Error);
  AdamW empty(Named{}, {});
  EXPECT_THROW(load_optimizer(empty, folder_), Error);
}

TEST(SchedulerState, HasTorchsFields) {
  const LrSchedule schedule({.warmup_steps = 2, .decay_steps = 8, .decay_lr = 1e-4}, 1e-3, 100);
  const Json golden = Json::read_file(
      testing::tests_path("golden/pi05_tiny_run/checkpoints/000003/training_state/scheduler_state.json"));
  const Json ours = scheduler_state(schedule, 3);
  EXPECT_EQ(ours.as_object().size(), golden.as_object().size());
  for (size_t i = 0; i < golden.as_object().size(); ++i) {
    EXPECT_EQ(ours.as_object()[i].first, golden.as_object()[i].first);
  }
  EXPECT_NEAR(ours.at("_last_lr").as_array()[0].as_double(), golden.at("_last_lr").as_array()[0].as_double(), 1e-15);
}

TEST(Ema, MovesTowardsTheParameters) {
  Tensor p = at::ones({3}).set_requires_grad(true), frozen = at::ones({3});
  AdamW optimizer({{"p", p}, {"frozen", frozen}}, {});
  Ema ema({.enable = true, .decay = 0.75}, optimizer.slots());
  p.detach().fill_(2.0);
  ema.update(optimizer.slots());
  ASSERT_EQ(ema.averages().size(), 1u);
  EXPECT_TENSOR_NEAR(ema.averages()[0].second, at::full({3}, 1.25), 0, 1e-7);
}

}  // namespace
}  // namespace flexor::optim
