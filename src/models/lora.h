#pragma once
#include <ATen/core/Generator.h>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/policy_model.h"

namespace flexor::models {

/// Low-rank adapters (arXiv:2106.09685): y = x W^T + (alpha / r) x A^T B^T. A and B are float32 whatever the weight is.
struct LoraOptions {
  /// Which layers are adapted by default, how A and B start, and what else is trained:
  /// "lerobot" (PEFT): q_proj and v_proj of the expert and the small projections; r 16, alpha 8; A uniform, B zero;
  /// "openpi": all projections of both Gemma stacks; r = alpha = 16 for the VLM, 32 for the expert; A, B normal (0.01).
  std::string style = "lerobot";
  std::optional<int64_t> r;          ///< rank
  std::optional<double> alpha;       ///< scale times r
  std::vector<std::string> targets;  ///< layers by the end of their name ("q_proj", "layers.0.mlp.up_proj")
};

/// Adds adapters to the matching linear layers and freezes what the style freezes: with "lerobot" (PEFT) everything
/// else, with "openpi" the language-model weights of the adapted stacks, while vision tower and projections go on
/// training. The adapters are parameters from then on (".lora_A.weight", ".lora_B.weight" after the layer's own).
/// save_weights() merges them into what it writes, so that the file needs no adapters; for an exact continuation store
/// the adapters (named_params) and load the base weights again.
/// @return names of the adapted layers
/// @throws Error(kConfig) for an unknown style, a rank below 1, or a target that matches no layer
std::vector<std::string> add_lora(PolicyModel& model, const LoraOptions& options, at::Generator& generator);

}  // namespace flexor::models
