#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/flow_sketch.h"
#include "schema/policy_config.h"
#include "train/memory_plan.h"
#include "train/run_folder.h"
#include "train/train_config.h"

namespace flexor::train {

/// What a plan can be told to do otherwise.
struct PlanChange {
  std::string what;  ///< "policy.gradient_checkpointing=true"
  MemoryPlan plan;
};

/// A plan of one configuration, and the means to make it smaller.
struct PlanReport {
  std::string model;  ///< "pi05, bfloat16 with float32 masters"
  std::string strategy;
  models::BatchShape batch;
  int64_t micro_batches = 1, world = 1;
  MemoryPlan plan;
  int64_t largest_batch = 0;        ///< per rank and micro step, that fits; 0: none
  std::vector<PlanChange> changes;  ///< filled when the plan does not fit
};

/// The policy that the run would train, as far as its data decide it. @throws as prepare_inputs()
schema::PolicyConfig planned_policy(const RunPlan& plan);

/// Pictures and prompts of a micro batch: of batch_file, else all cameras of the policy and its longest prompt.
/// @throws Error(kFile), Error(kData) for a batch_file that cannot be read
models::BatchShape batch_shape(const TrainConfig& config, const schema::PolicyConfig& policy);

/// The memory of a run's steps. Nothing is allocated for the weights. @param ranks_of_node  of hybrid; 0: all
MemoryPlan plan_policy(const TrainConfig& config, const schema::PolicyConfig& policy, const models::BatchShape& batch,
                       int64_t world, int64_t ranks_of_node = 0);

/// The same with a model that is there.
MemoryPlan plan_policy(models::PolicyModel& model, const TrainConfig& config, const schema::PolicyConfig& policy,
                       const models::BatchShape& batch, int64_t world, int64_t ranks_of_node = 0);

/// The same with the largest batch for `memory` bytes and, when the batch does not fit, what else would help.
PlanReport report_policy_plan(const TrainConfig& config, const schema::PolicyConfig& policy, int64_t world,
                              double memory, int64_t ranks_of_node = 0);

/// The largest batch that fits, 0 if not even one sample does. @param bytes_of  grows with the batch
int64_t largest_batch(const std::function<double(int64_t batch)>& bytes_of, double memory);

}  // namespace flexor::train
