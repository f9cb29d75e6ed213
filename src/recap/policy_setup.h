#pragma once
#include <memory>
#include <string>

#include "data/processor.h"
#include "data/tokenizer.h"
#include "models/policy_model.h"
#include "recap/policy_data.h"
#include "recap/recap_config.h"
#include "schema/policy_config.h"
#include "train/run_folder.h"

namespace flexor::recap {

/// Everything that a policy's training is made of before there is a model.
struct PolicyInputs {
  train::RunPlan plan;  ///< the run in the words of `flexor train`; with the checkpoint that is resumed
  schema::PolicyConfig policy;
  PolicyData data;
  std::shared_ptr<const data::Processor> processor;
  std::string stats_source, stats_hash;
};

/// Opens and checks data, labels, statistics, tokenizer and prompts. Nothing is written and no weights are read.
/// @param checkpoint  .../global_step_N to continue from; "" to start
/// @param with_labels  false, to check a run before its labels are made: see open_policy_data
/// @param world  ranks that share the training
/// @throws Error(kConfig), Error(kFile), Error(kData), Error(kCheckpoint); Error(kRuntime) if a step of the run cannot
///         fit into memory
PolicyInputs prepare_policy(const RecapConfig& config, const std::string& checkpoint, bool with_labels = true,
                            int64_t world = 1);

}  // namespace flexor::recap
