#include "train/memory_plan.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <string>

#include "base/log.h"
#include "models/flow_sketch.h"
#include "models/golden_fixture.h"
#include "optim/ema.h"
#include "tensor/tensor.h"
#include "train/policy_plan.h"

namespace flexor::train {
namespace {

using models::MemoryUse;

struct Planned {
  models::GoldenPolicy policy;
  MemorySetup setup;

  MemoryPlan plan() {
    const models::BatchShape shape = models::shape_of(policy.inputs.batch);
    return plan_memory(
        parts_of(*policy.model),
        [&](models::MemoryTape& tape) { return models::sketch_loss(*policy.model, shape, tape); }, setup);
  }
};

double bytes_of(const Tensor& tensor) {
  return tensor.defined() ? static_cast<double>(tensor.nbytes()) : 0.0;
}

/// What a real step leaves behind.
TEST(MemoryPlan, OfOneProcessHasTheBytesOfItsTensors) {
  set_log_level(LogLevel::kOff);
  at::set_num_threads(1);
  for (const char* dtype : {"float32", "bfloat16"}) {
    for (const char* masters : {"float32", "none"}) {
      SCOPED_TRACE(std::string(dtype) + " masters " + masters);
      Planned planned{models::GoldenPolicy::open("pi05", dtype), {.has_masters = masters[0] == 'f', .has_ema = true}};
      const MemoryPlan plan = planned.plan();
      models::PolicyModel& model = *planned.policy.model;
      optim::AdamW optimizer(nn::named_params(model), {.master_dtype = masters});
      const optim::Ema ema({.enable = true}, optimizer.slots());
      planned.policy.loss().loss.backward();
      double gradients = 0;
      optimizer.collect_grads();
      optimizer.step(1e-4);
      double weights = 0, kept_masters = 0, moments = 0, averages = 0;
      for (const optim::Slot& slot : optimizer.slots()) {
        weights += bytes_of(slot.param);
        kept_masters += bytes_of(slot.master);
        moments += bytes_of(slot.exp_avg) + bytes_of(slot.exp_avg_sq);
        gradients += bytes_of(slot.grad32) + bytes_of(slot.param.grad());
      }
      for (const auto& [name, average] : ema.averages()) {
        averages += bytes_of(average);
      }
      EXPECT_EQ(plan.resting.of(MemoryUse::kWeights), weights);
      EXPECT_EQ(plan.resting.of(MemoryUse::kMasters), kept_masters);
      EXPECT_EQ(plan.resting.of(MemoryUse::kMoments), moments);
      EXPECT_EQ(plan.resting.of(MemoryUse::kAverages), averages);
      EXPECT_EQ(plan.resting.of(MemoryUse::kActivations), 0);
      EXPECT_EQ(plan.resting.of(MemoryUse::kGradients), 0);
      EXPECT_GE(plan.peak.of(MemoryUse::kGradients) + plan.peak.of(MemoryUse::kActivations), gradients);
      EXPECT_LE(plan.first_step, plan.total());
    }
  }
}

TEST(MemoryPlan, OfManyRanksDividesWhatTheStrategySays) {
  Planned planned{models::GoldenPolicy::open("pi05", "bfloat16"), {.has_masters = true, .has_ema = true}};
  const MemoryPlan alone = planned.plan();
  const auto with = [&](const char* strategy) {
    planned.setup.strategy = strategy;
    planned.setup.world = 4;
    return planned.plan();
  };
  for (const char* strategy : {"zero1", "zero2", "zero3"}) {
    SCOPED_TRACE(strategy);
    const MemoryPlan plan = with(strategy);
    for (const MemoryUse use : {MemoryUse::kMasters, MemoryUse::kAverages}) {
      EXPECT_DOUBLE_EQ(plan.resting.of(use), alone.resting.of(use) / 4);
    }
    EXPECT_EQ(plan.resting.of(MemoryUse::kCommunication), 0);
  }
  const MemoryPlan ddp = with("ddp"), zero1 = with("zero1"), zero2 = with("zero2"), zero3 = with("zero3");
  EXPECT_EQ(ddp.resting.of(MemoryUse::kWeights), alone.resting.of(MemoryUse::kWeights));
  EXPECT_GT(ddp.resting.of(MemoryUse::kGradients), 0);  // the buckets stay
  EXPECT_GE(zero2.resting.of(MemoryUse::kWeights), alone.resting.of(MemoryUse::kWeights));
  EXPECT_LT(zero3.resting.of(MemoryUse::kWeights), alone.resting.of(MemoryUse::kWeights) / 2);
  EXPECT_GT(zero1.resting.of(MemoryUse::kGradients), 0);  // undivided ones stay for the next step
  EXPECT_EQ(zero2.resting.of(MemoryUse::kGradients), 0);
}

TEST(LargestBatch, IsTheLastThatFits) {
  const auto bytes = [](int64_t batch) { return 100.0 + 7.0 * static_cast<double>(batch); };
  EXPECT_EQ(largest_batch(bytes, 106), 0);
  EXPECT_EQ(largest_batch(bytes, 107), 1);
  EXPECT_EQ(largest_batch(bytes, 100 + 7 * 37 + 6), 37);
  EXPECT_EQ(largest_batch(bytes, 0), 0);
}

}  // namespace
}  // namespace flexor::train
