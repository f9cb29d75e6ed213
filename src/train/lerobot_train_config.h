#pragma once
#include <string>

#include "base/json.h"
#include "train/train_config.h"

namespace flexor::train {

/// train_config.json of a checkpoint, from which LeRobot (0.6.1) resumes the run. @param policy  config.json's content
/// @param before  the file of the checkpoint that the run was resumed from; its other values stay. Null for a new run
Json lerobot_train_config(const TrainConfig& config, const Json& policy, const Json& before);

/// The run that a train_config.json of LeRobot describes; `policy.config` is left alone. Values that Flexor has no key
/// for are not looked at. @throws Error(kCheckpoint) naming file and key
void take_lerobot_train_config(TrainConfig& config, const Json& json, const std::string& where);

}  // namespace flexor::train
