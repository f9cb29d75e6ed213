#pragma once
#include <ATen/core/Generator.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/policy_model.h"

namespace flexor::models {

/// Low-rank adapters (arXiv:2106.09685): y = x W^T + (alpha / r) x A^T B^T.
struct LoraOptions {
  std::string style = "lerobot";     ///< which layers, and how A and B start: "lerobot" or "openpi"
  int64_t r = 16;                    ///< rank
  double alpha = 8;                  ///< LeRobot's (PEFT's) default; openpi: 16 for the VLM, 32 for the expert
  std::vector<std::string> targets;  ///< ends of layer names ("q_proj", "action_expert.v_proj"); empty: the style's
};

/// Adds adapters to the matching linear layers and freezes what the style freezes: with "lerobot" (PEFT) everything else,
/// with "openpi" the language-model weights of the adapted stacks, while vision tower and projections go on training.
/// The adapters are parameters from then on (".lora_A.weight", ".lora_B.weight" after the layer's own).
/// @return names of the adapted layers
/// @throws Error(kConfig) if a target matches no layer
std::vector<std::string> add_lora(PolicyModel& model, const LoraOptions& options, at::Generator& generator);

/// Adds every adapter to its weight and removes it.
void merge_lora(PolicyModel& model);

}  // namespace flexor::models
