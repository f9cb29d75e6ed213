#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "data/processor.h"
#include "models/policy_model.h"
#include "optim/adamw.h"
#include "optim/ema.h"
#include "train/batch_source.h"
#include "train/progress.h"
#include "train/run_folder.h"
#include "train/train_config.h"

namespace flexor::train {

/// What a checkpoint is made of; everything is borrowed.
struct CheckpointParts {
  const TrainConfig& config;
  const schema::PolicyConfig& policy;  ///< as the model was built, with the dtype of the run
  models::PolicyModel& model;
  const optim::AdamW& optimizer;
  double peak_lr = 0, next_lr = 0;  ///< of the schedule: its largest rate, that of the next step
  const optim::Ema* ema = nullptr;
  const data::Processor* processor =
      nullptr;  ///< null with batch_file: then the files of `processor_source` are copied
  std::string processor_source;
  const Json& lerobot_config;  ///< train_config.json of the checkpoint that was resumed, or null
  const Progress& progress;
  BatchSource::Position position;
  int64_t world = 1;
};

/// Writes checkpoints/<step> as LeRobot lays it out and points checkpoints/last to it. The folder appears complete or
/// not at all. Beside LeRobot's files, which alone let LeRobot go on, training_state holds what it ignores:
///   flexor_state.safetensors    step, samples, seed, position in the data, schedule_steps, elapsed_s, recent_losses
///   flexor_masters.safetensors  float32 masters of bfloat16 parameters, by name
///   flexor_params.safetensors   trained tensors of a run with LoRA, whose pretrained_model holds the merged weights
///   flexor_ema.safetensors      moving averages; pretrained_model_ema is the policy made of them
/// Noise and times are functions of seed and step, so there is no other random state.
/// @return folder of the checkpoint. @throws Error(kFile)
std::string save_checkpoint(const CheckpointParts& parts);

/// The same into a folder that is there, under whatever name it will appear: no link, no rename. @throws Error(kFile)
void write_checkpoint(const CheckpointParts& parts, const std::string& folder);

/// Fills optimizer, parameters (LoRA) and averages from a checkpoint, and returns its counters.
/// @param is_lora  trained tensors come from flexor_params.safetensors, since pretrained_model holds merged weights
/// @throws Error(kFile), Error(kCheckpoint) if anything is missing or belongs to another model
Progress load_checkpoint(const CheckpointRef& checkpoint, models::PolicyModel& model, optim::AdamW& optimizer,
                         optim::Ema* ema, bool is_lora);

}  // namespace flexor::train
