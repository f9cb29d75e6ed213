#pragma once
#include <ATen/core/Generator.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/value_model.h"
#include "tensor/safetensors.h"

namespace flexor::models {

/// The files that hold a value model's weights below `path`: model_state_dict/full_weights.pt, the same below actor/,
/// the file itself, or all *.safetensors (else all *.pt) of the folder. @throws Error(kFile) if there are none
std::vector<std::string> find_value_weights(const std::string& path);

/// Fills all parameters from the files of `path`, under the reference's names, with or without a leading "model.".
/// SigLIP's pooling head may be missing (it becomes zero; the value model does not read it) and lm_heads may be there.
/// @throws Error(kFile), Error(kCheckpoint) that lists missing, unknown and misshapen tensors; the model is unchanged
/// then
void load_value_weights(ValueModel& model, const std::string& path);

/// SigLIP out of a Hugging Face folder (the vision tower of a whole SigLIP is taken), Gemma3 out of another.
/// @throws Error(kFile), Error(kCheckpoint) as above
void load_siglip(VisionTower& vision, const std::string& folder);
void load_gemma3(Gemma3Stack& gemma3, const std::string& folder);

/// Random parameters, a function of the generator's state alone, drawn in float32 in the order of the parameters.
/// - projector, expert and [CLS]: normal with deviation 0.02, biases 0; the expert's norms 1 (so that they scale by 2)
/// - value_proj: uniform in +-1/sqrt(inputs), weight and bias, as PyTorch's Linear
/// - SigLIP and Gemma3, to be replaced by pretrained ones: normal with deviation 1/sqrt(inputs), biases 0, norms the
///   identity
void init_value_weights(ValueModel& model, at::Generator& generator);
void init_siglip(VisionTower& vision, at::Generator& generator);
void init_gemma3(Gemma3Stack& gemma3, at::Generator& generator);

/// All parameters under the reference's names. @throws Error(kFile)
void save_value_weights(ValueModel& model, const std::string& file);

/// The model of a checkpoint: its own config.json where it has one, else `fallback` (the reference's checkpoints do not
/// say what they are). @throws Error(kFile), Error(kCheckpoint)
std::unique_ptr<ValueModel> open_value_model(const std::string& path, const ValueConfig& fallback,
                                             const ValueOptions& options = {});

/// config.json of a checkpoint of ours, nothing for other checkpoints.
std::optional<ValueConfig> find_value_config(const std::string& path);

/// Parameters by name, to be filled.
struct NamedParams {
  std::vector<std::pair<std::string, at::Tensor*>> params;
};
/// Replaces parameters by the float32 form of the tensors of the same names; other tensors are not looked at.
/// @param optional_part  parameters whose names contain it may be missing: they become zero; "" = none may
/// @param path, hint     for the error
/// @throws Error(kCheckpoint) that lists missing and misshapen tensors; nothing is changed then
void fill_params(const NamedParams& target, const std::vector<NamedTensor>& tensors, const std::string& optional_part,
                 const std::string& path, const std::string& hint);

}  // namespace flexor::models
