#pragma once
#include <cstdint>

#include "recap/recap_config.h"
#include "train/policy_plan.h"

namespace flexor::recap {

/// The memory of the value model's training steps. @param world  ranks  @param ranks_of_node  of hybrid; 0: all
train::MemoryPlan plan_value(const ValueStep& step, const models::BatchShape& batch, int64_t world,
                             int64_t ranks_of_node = 0);

/// The same with a model that is there.
train::MemoryPlan plan_value(models::ValueModel& model, const ValueStep& step, const models::BatchShape& batch,
                             int64_t world, int64_t ranks_of_node = 0);

/// Three cameras and the longest prompt.
models::BatchShape value_batch_shape(const ValueStep& step);

/// The same with the largest micro batch for `memory` bytes and what would help when it does not fit.
/// @throws Error(kFile), Error(kCheckpoint), Error(kConfig) if nothing says how large the model is
train::PlanReport report_value_plan(const ValueStep& step, int64_t world, double memory, int64_t ranks_of_node = 0);

}  // namespace flexor::recap
