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

/// The policy of such a folder (schema/openpi_policy.h) with its processors, for using it as it is; nothing if `folder`
/// is not of this kind. openpi's pi0.5 configurations without the state in the prompt cannot be told apart from those
/// with it; the state is written into the prompt.
/// @param norm_stats  a norm_stats.json to use instead of the one below assets/; empty: that one
/// @throws Error(kFile), Error(kCheckpoint) if the folder is incomplete or holds several statistics
std::optional<OpenpiCheckpoint> read_openpi_checkpoint(const std::string& folder, const std::string& norm_stats = {});

}  // namespace flexor::data
