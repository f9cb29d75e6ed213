#include "models/key_map.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::models {
namespace {

constexpr std::string_view kBody = "paligemma_with_expert.";

bool cut_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) {
    return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

std::string join(std::string_view a, std::string_view b) {
  return std::string(a) + std::string(b);
}

/// Parts of a PaliGemma, below its root: old name, name of today.
std::string modern_paligemma(std::string_view rest) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kMoves = {{
      {"language_model.model.", "model.language_model."},
      {"language_model.lm_head.", "lm_head."},
      {"language_model.", "model.language_model."},
      {"vision_tower.", "model.vision_tower."},
      {"multi_modal_projector.", "model.multi_modal_projector."},
  }};
  for (const auto& [from, to] : kMoves) {
    std::string_view tail = rest;
    if (cut_prefix(tail, from)) {
      return join(to, tail);
    }
  }
  return std::string(rest);
}

/// Norms of a pi0 expert: pi0.5 has `.dense` in their place.
bool is_plain_expert_norm(std::string_view name) {
  return name.starts_with("paligemma_with_expert.gemma_expert.") &&
         (name.ends_with("layernorm.weight") || name.ends_with(".norm.weight"));
}

std::string rename_time_mlp(std::string_view key, bool is_pi05) {
  const std::string_view from = is_pi05 ? "action_time_mlp_" : "time_mlp_";
  const std::string_view to = is_pi05 ? "time_mlp_" : "action_time_mlp_";
  std::string_view tail = key;
  return cut_prefix(tail, from) ? join(to, tail) : std::string(key);
}

}  // namespace

MappedKey map_policy_key(std::string_view key, bool is_pi05) {
  if (key.starts_with("normalize_inputs.") || key.starts_with("normalize_targets.") ||
      key.starts_with("unnormalize_outputs.")) {
    return {.name = {}, .skipped = true};
  }
  const bool prefixed = cut_prefix(key, "model.");
  std::string_view rest = key;
  if (cut_prefix(rest, kVlm)) {
    return {.name = join(kVlm, modern_paligemma(rest))};
  }
  if (is_pi05 && is_plain_expert_norm(key)) {
    return {.name = {}, .skipped = true};
  }
  if (key.starts_with(kBody) || prefixed) {
    return {.name = std::string(key)};
  }
  if (is_pi05 && key.starts_with("state_proj.")) {
    return {.name = {}, .skipped = true};
  }
  return {.name = rename_time_mlp(key, is_pi05)};
}

std::optional<std::string> map_paligemma_key(std::string_view key) {
  const std::string name = modern_paligemma(key);
  if (!name.starts_with("model.language_model.") && !name.starts_with("model.vision_tower.") &&
      !name.starts_with("model.multi_modal_projector.") && !name.starts_with("lm_head.")) {
    return std::nullopt;
  }
  return join(kVlm, name);
}

std::string list_names(const std::vector<std::string>& names, const char* kind) {
  constexpr size_t kMost = 8;
  const size_t shown = std::min(names.size(), kMost);
  const std::string text = join_text({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown)}, ", ");
  return str_cat(names.size(), " ", kind, ": ", text, shown < names.size() ? ", ..." : "");
}

}  // namespace flexor::models
