#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/policy_model.h"

namespace flexor::models {

/// The weights file of a path: the file itself, or of a folder model.safetensors, model.safetensors.index.json, or
/// RLinf's [actor/]model_state_dict/full_weights.pt.
/// @throws Error(kFile) if there is none
std::string weights_file(const std::string& path);

struct LoadOptions {
  bool allow_partial = false;  ///< accept missing and unused tensors (they are reported); misshapen ones never
  bool check_only = false;     ///< everything but filling the model: it stays as it is
};

/// What became of the tensors of a file and of the model's parameters; names without the leading "model.".
struct LoadReport {
  int64_t loaded = 0;                ///< parameters that were filled
  std::vector<std::string> missing;  ///< parameters that the file does not have (left as they are)
  std::vector<std::string> unused;   ///< tensors of the file that the model has no place for
  std::vector<std::string> skipped;  ///< tensors that the reference drops too: statistics, other norms
  std::vector<std::pair<std::string, std::string>> remapped;  ///< name in the file, name in the model
};

/// Fills the model from LeRobot or openpi-PyTorch weights: a .safetensors file, an index of shards
/// (*.safetensors.index.json), RLinf's full_weights.pt, or a folder that holds one of them. With or without the
/// `model.` prefix; pi0 <-> pi0.5 renames and older layouts as LeRobot's loader accepts them. The embedding is
/// `embed_tokens` if the file has it, else `paligemma.lm_head`; lm_heads, which nothing reads, may be missing. Tensors
/// of the parameter's own dtype stay views of the mapped file (private: training never changes the file), others are
/// cast.
/// @throws Error(kFile), Error(kCheckpoint): misshapen tensors (all listed, expected and found), or missing and unused
///         tensors without `allow_partial`; the model is unchanged then
LoadReport load_weights(PolicyModel& model, const std::string& path, const LoadOptions& options = {});

/// "model.safetensors" as LeRobot's strict loader wants it: `model.` prefix, `embed_tokens` and both lm_heads.
/// LoRA is merged into the weights. @throws Error(kFile)
void save_weights(PolicyModel& model, const std::string& path);

}  // namespace flexor::models
