#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/dataset_info.h"
#include "data/prompt.h"
#include "recap/policy_data.h"
#include "recap/recap_config.h"
#include "schema/policy_config.h"
#include "train/train_config.h"

namespace flexor::recap {

/// What openpi.config_name decides; the rest is the checkpoint's.
///
///   name         policy  horizon  state in the prompt  statistics  relative to the state
///   pi05_libero  pi0.5   10       no                   quantiles   no
///   pi0_libero   pi0     50       -                    mean, std   the first six dimensions
///   pi05         pi0.5   -        yes                  quantiles   -
///   pi0          pi0     -        -                    mean, std   -
///   auto         -       -        -                    -           -
struct PolicyPreset {
  std::string type;  ///< "pi0", "pi05"; empty: the checkpoint's
  std::optional<int64_t> action_horizon;
  std::optional<bool> state_in_prompt;   ///< of pi0.5
  std::optional<schema::NormMode> norm;  ///< of state and action
  std::optional<int64_t> relative_dims;  ///< the first so many dimensions of the action; 0: none
};
/// @param config_name  one of the above
PolicyPreset policy_preset(std::string_view config_name);

/// The policy that training starts from: the one of model_path, or that of `architecture`, with the preset and the keys
/// of the section applied. Features of state and action are those of the data only after policy_for_data().
/// @throws Error(kFile), Error(kCheckpoint); Error(kConfig) if checkpoint and preset contradict each other
schema::PolicyConfig starting_policy(const PolicyStep& step);

/// Whether model_path holds weights without a description: RLinf's full_weights.pt.
bool has_plain_weights(const std::string& model_path);

/// How prompts are made of tasks: as the preset says, else as the processors of model_path do.
data::PromptStyle prompt_style(const PolicyModelSection& section, const schema::PolicyConfig& policy);

/// With the preset's relative dimensions, names of the action that say which they are.
void set_relative_dims(schema::PolicyConfig& policy, const PolicyPreset& preset);

/// The run in the words of `flexor train`, whose parts do the work. `steps` and the number of ranks are left out.
train::TrainConfig policy_train_config(const RecapConfig& config, const schema::PolicyConfig& policy,
                                       const PolicyData& data);

}  // namespace flexor::recap
