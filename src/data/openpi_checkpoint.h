#pragma once
#include <optional>
#include <string>

#include "data/processor.h"
#include "schema/policy_config.h"

namespace flexor::data {

/// A PyTorch checkpoint folder of openpi: model.safetensors, a config.json of its own kind (`action_dim`,
/// `action_horizon`, variants, `precision`), and statistics in assets/<id>/norm_stats.json.
struct OpenpiCheckpoint {
  schema::PolicyConfig policy;  ///< three cameras; sizes of state and action are those of the statistics
  ProcessorConfig processor;    ///< openpi's formulas and prompts
};

/// The policy of such a folder, for fine-tuning: state and action have `action_dim` values, as the weights have.
/// Nothing if `folder` is not of this kind (its config.json has a `type`, as LeRobot's has). Whether it is pi0 or pi0.5
/// is read off the weights' names. Sizes other than the variants' may be given as in our config.json (`architecture`,
/// `image_resolution`). @throws Error(kFile), Error(kCheckpoint)
std::optional<schema::PolicyConfig> read_openpi_policy(const std::string& folder);

/// The same with the processors, for using the policy as it is. openpi's pi0.5 configurations without the state in the
/// prompt cannot be told apart from those with it; the state is written into the prompt.
/// @param norm_stats  a norm_stats.json to use instead of the one below assets/; empty: that one
/// @throws Error(kFile), Error(kCheckpoint) if the folder is incomplete or holds several statistics
std::optional<OpenpiCheckpoint> read_openpi_checkpoint(const std::string& folder, const std::string& norm_stats = {});

}  // namespace flexor::data
