#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "config/load.h"
#include "config/print.h"
#include "dist/group.h"
#include "optim/adamw.h"
#include "recap/ranks.h"
#include "recap/recap_config.h"
#include "recap/training_folder.h"
#include "tensor/block_pool.h"
#include "train/trainer.h"

namespace flexor::recap {

/// The checkpoint that training continues from, "" to start: resume_dir, or with `auto` the newest complete one of the
/// run that all ranks have. @throws Error(kFile) if resume_dir is no folder; Error(kRuntime) if not all ranks see one
std::string resumed_checkpoint(const RunnerSection& runner, const TrainingFolder& run, dist::Group& group);

/// A run goes on with the configuration that it was started with. @param stored_path  config.yaml of the run
/// @param free  beginnings of the keys that may change  @throws Error(kConfig) that lists all others that did
void refuse_changes(const std::string& stored_path, const config::FlatConfig& stored, const config::FlatConfig& now,
                    std::span<const std::string_view> free);

/// The same with the file read; nothing if there is none.
template <typename Step>
void refuse_changes(const std::string& stored_path, const Step& step, std::span<const std::string_view> free) {
  if (std::filesystem::exists(stored_path)) {
    Step stored;
    config::load(stored, {.files = {stored_path}, .overrides = {}});
    refuse_changes(stored_path, config::flatten(stored), config::flatten(step), free);
  }
}

/// Ctrl-C and SIGTERM are noted from here on; threads as the configuration says.
void prepare_process(const RecapConfig& config);

/// What every training begins with. @return the checkpoint that all ranks go on from, "" to start
/// @throws as resumed_checkpoint(), refuse_changes() and check_ranks()
template <typename Section>
std::string begin_training(const RecapConfig& config, Step step, const Section& section, const TrainingFolder& run,
                           std::span<const std::string_view> free, dist::Group& group) {
  prepare_process(config);
  use_block_pool();
  std::string checkpoint = resumed_checkpoint(section.runner, run, group);
  if (!checkpoint.empty()) {
    refuse_changes(run.folder() + "/config.yaml", section, free);
  }
  check_ranks(group, config, step, {{"the checkpoint", checkpoint}});
  return checkpoint;
}

/// Optimizer steps of the run: the smaller of max_epochs and max_steps, one epoch if neither is given.
int64_t total_steps(const RunnerSection& runner, int64_t steps_per_epoch);

optim::AdamWConfig adamw_config(const OptimSection& config);

/// The loop of a training of `steps` steps of `accumulation` micro batches each, with the intervals of `runner`. It
/// does not validate before the first step; rows say the rate that was used.
train::LoopConfig loop_config(const RunnerSection& runner, const TrainingFolder& run, int64_t steps,
                              int64_t accumulation);

/// When all ranks have read the folder: the main one makes it ready, see TrainingFolder::start(). @return null on
/// others
std::unique_ptr<FolderLock> start_folder(const TrainingFolder& run, const std::string& config_yaml, bool resumed,
                                         dist::Group& group);

/// What a finished training did, called by the main rank. @param best  checkpoint that `best` points to
TrainingReport report_of(const train::Trainer& trainer, const train::Closing& closing, const TrainingFolder& run,
                         std::string best, const BestValue& best_value, std::map<std::string, double> validation);

}  // namespace flexor::recap
