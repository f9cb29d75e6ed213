#pragma once
#include <memory>
#include <string>

#include "data/tokenizer.h"
#include "models/value_model.h"
#include "recap/recap_config.h"
#include "recap/value_checkpoint.h"

namespace flexor::recap {

/// The model that a section describes: sizes of `architecture`, else those of siglip_path, gemma3_path and the expert's
/// variant. @throws Error(kFile), Error(kCheckpoint), Error(kConfig)
models::ValueConfig value_config(const ValueModelSection& section);

/// The model that training starts from: weights of model_path, else of siglip_path and gemma3_path with a fresh expert
/// and head; without paths (but with `architecture`) all of it is random. What is trained is set.
/// @throws Error(kFile), Error(kCheckpoint), Error(kConfig) if nothing says where the weights are from
std::unique_ptr<models::ValueModel> build_value_model(const ValueStep& step);

/// tokenizer_path, else the one beside model_path or gemma3_path. @throws Error(kFile)
data::Tokenizer value_tokenizer(const ValueModelSection& section);

/// The checkpoint that training continues from, "" to start: resume_dir, or with `auto` the newest complete one of the run.
/// @throws Error(kFile) if resume_dir is no folder
std::string resumed_checkpoint(const RunnerSection& runner, const ValueRun& run);

/// Optimizer steps of the run: the smaller of max_epochs and max_steps, one epoch if neither is given.
int64_t total_steps(const RunnerSection& runner, int64_t steps_per_epoch);

optim::AdamWConfig adamw_config(const OptimSection& config);

/// Makes the run's folder ready: writable, empty unless `resumed`, with the configuration in it. Touches nothing but the
/// folder of `run`. @throws Error(kFile)
void start_value_folder(const ValueRun& run, const ValueStep& step, bool resumed);

}  // namespace flexor::recap
