#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flexor::models {

// Names of parameters: what all of the VLM's start with, its two tied tables.
inline constexpr std::string_view kVlm = "paligemma_with_expert.paligemma.";
inline constexpr const char* kEmbedding = "paligemma_with_expert.paligemma.model.language_model.embed_tokens.weight";
inline constexpr const char* kLmHead = "paligemma_with_expert.paligemma.lm_head.weight";

/// Where a tensor of a checkpoint belongs.
struct MappedKey {
  std::string name;      ///< the parameter's name, without the leading "model."
  bool skipped = false;  ///< the reference's loader drops it: `name` is meaningless
};

/// Name in a LeRobot or openpi-PyTorch file -> name of the parameter. Accepts the `model.` prefix and its absence, the
/// layouts of older transformers versions, and, without the prefix only (as LeRobot does), the renames between pi0's
/// action_time_mlp_* and pi0.5's time_mlp_*. pi0.5 drops state_proj and plain norms of the expert.
MappedKey map_policy_key(std::string_view key, bool is_pi05);

/// Name in a Hugging Face PaliGemma file -> name of the parameter, for both layouts of the transformers library;
/// nothing for a tensor that the policy has no place for.
std::optional<std::string> map_paligemma_key(std::string_view key);

/// "3 missing: a, b, c" with at most eight names.
std::string list_names(const std::vector<std::string>& names, const char* kind);

}  // namespace flexor::models
