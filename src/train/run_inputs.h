#pragma once
#include <memory>
#include <optional>
#include <string>

#include "data/processor.h"
#include "schema/norm_stats.h"
#include "schema/policy_config.h"
#include "train/data_setup.h"
#include "train/run_folder.h"

namespace flexor::train {

/// Data, processor and policy of a run, before there is a model.
struct RunInputs {
  std::optional<TrainingData> data;
  std::shared_ptr<const data::Processor> processor;
  std::string processor_source;
  schema::PolicyConfig policy;
  std::optional<schema::NormStats> computed_stats;
};

/// Opens and checks what a run trains on: datasets with their cameras, statistics (computed where they are missing),
/// tokenizer and prompts; nothing of it with batch_file.
/// @throws Error(kFile), Error(kData), Error(kConfig)
RunInputs prepare_inputs(const RunPlan& plan);

/// The policy of the checkpoint; its dtype is the run's, since config.json cannot say bfloat16_autocast.
schema::PolicyConfig resumed_policy(const RunPlan& plan);

}  // namespace flexor::train
