#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "train/checkpoint.h"
#include "train/run_folder.h"

namespace flexor::train {

// Names below training_state of what only Flexor writes.
inline constexpr const char* kStateFile = "flexor_state.safetensors";
inline constexpr const char* kMastersFile = "flexor_masters.safetensors";
inline constexpr const char* kParamsFile = "flexor_params.safetensors";
inline constexpr const char* kEmaFile = "flexor_ema.safetensors";

/// training_step.json: LeRobot's keys, and under `flexor_files` the names of Flexor's own files, by which a later
/// reader knows what must be there. @param files  in the order they were written
Json training_step(const Progress& progress, int64_t world, int64_t batch_size, const std::vector<std::string>& files);

/// True if Flexor wrote the checkpoint. @throws Error(kFile), Error(kData) if training_step.json cannot be read
bool is_flexor_checkpoint(const CheckpointRef& checkpoint);

/// Reads every file of the folder that a resumed run needs, and those that only LeRobot needs, and compares what they
/// say about the step: a checkpoint that is damaged in any place is refused before anything is trained on it.
/// @param num_params  parameters of the model
/// @throws Error(kFile) for a missing file, Error(kCheckpoint) with the file for one that is damaged or does not fit
void check_training_state(const CheckpointRef& checkpoint, size_t num_params);

/// Counters of the checkpoint; of a checkpoint by LeRobot, which has no others, those of training_step.json.
/// @throws Error(kFile), Error(kCheckpoint)
Progress read_progress(const CheckpointRef& checkpoint);

/// Where the run stood in its data; nothing for a checkpoint by LeRobot, whose step says it.
/// @throws Error(kFile), Error(kCheckpoint)
std::optional<data::SamplerState> read_position(const CheckpointRef& checkpoint);

/// The order of the samples is drawn over the frames that the run was started with.
/// @throws Error(kData) with both sizes if Flexor wrote the checkpoint for data of another size
void check_same_data(const CheckpointRef& checkpoint, const DataSize& data);

}  // namespace flexor::train
