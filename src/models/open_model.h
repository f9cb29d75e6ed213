#pragma once
#include <memory>
#include <optional>
#include <string>

#include "models/policy_model.h"
#include "models/weights.h"

namespace flexor::models {

/// The model of a policy folder of LeRobot, Flexor or openpi (config.json and weights) without its processors: for work
/// on prepared tensors.
/// @param dtype  float32, bfloat16 or bfloat16_autocast (float32 weights under bf16 autocast); none: as config.json
/// says
/// @throws Error(kFile) missing or unreadable, Error(kCheckpoint) weights that do not fit, Error(kConfig) unknown dtype
std::unique_ptr<PolicyModel> open_model(const std::string& folder, const std::optional<std::string>& dtype = {},
                                        ComputeOptions compute = {}, const LoadOptions& load = {});

/// The same with a configuration that was read before.
std::unique_ptr<PolicyModel> open_model(const std::string& folder, schema::PolicyConfig config,
                                        const std::optional<std::string>& dtype = {}, ComputeOptions compute = {},
                                        const LoadOptions& load = {});

}  // namespace flexor::models
