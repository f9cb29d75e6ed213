#pragma once
#include <optional>
#include <string>

#include "schema/policy_config.h"

namespace flexor::schema {

/// The policy of a PyTorch checkpoint folder of openpi: model.safetensors and a config.json of its own kind
/// (`action_dim`, `action_horizon`, variants, `precision`). Three cameras; state and action have `action_dim` values,
/// as the weights have. Nothing if `folder` is not of this kind (its config.json has a `type`, as LeRobot's has).
/// Whether it is pi0 or pi0.5 is read off the weights' names. Sizes other than the variants' may be given as in our
/// config.json
/// (`architecture`, `image_resolution`). @throws Error(kFile), Error(kCheckpoint)
std::optional<PolicyConfig> read_openpi_policy(const std::string& folder);

/// config.json of a policy folder, as LeRobot or openpi wrote it. @throws Error(kFile), Error(kCheckpoint)
PolicyConfig read_policy_config(const std::string& folder);

}  // namespace flexor::schema
