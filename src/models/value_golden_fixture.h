#pragma once
// For tests only: the reference's tiny value model with its batch and its expected values.
#include <memory>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "models/value_model.h"
#include "models/value_weights.h"
#include "nn/named_params.h"
#include "testing/golden.h"

namespace flexor::models {

inline std::string tiny_value_path(const std::string& file) {
  return "golden/recap_value/value_model_tiny/" + file;
}

inline Json tiny_value_json() {
  return Json::read_file(testing::tests_path(tiny_value_path("config.json")));
}

inline ValueConfig tiny_value_config() {
  const Json json = tiny_value_json();
  const Json &vision = json.at("vision"), &gemma3 = json.at("gemma3"), &expert = json.at("expert"),
             &head = json.at("head");
  const auto size = [](const Json& from, const char* key) { return from.at(key).as_int(); };
  ValueConfig config;
  config.architecture.image_size = size(vision, "image_size");
  config.architecture.vision = {.width = size(vision, "hidden_size"),
                                .depth = size(vision, "num_hidden_layers"),
                                .num_heads = size(vision, "num_attention_heads"),
                                .mlp_dim = size(vision, "intermediate_size"),
                                .patch_size = size(vision, "patch_size")};
  config.architecture.gemma3 = {.vocab_size = size(gemma3, "vocab_size"),
                                .width = size(gemma3, "hidden_size"),
                                .depth = size(gemma3, "num_hidden_layers"),
                                .mlp_dim = size(gemma3, "intermediate_size"),
                                .num_heads = size(gemma3, "num_attention_heads"),
                                .num_kv_heads = size(gemma3, "num_key_value_heads"),
                                .head_dim = size(gemma3, "head_dim"),
                                .query_pre_attn_scalar = gemma3.at("query_pre_attn_scalar").as_double(),
                                .full_layers = {2}};
  config.architecture.expert = {.width = size(expert, "width"),
                                .depth = size(expert, "depth"),
                                .mlp_dim = size(expert, "mlp_dim"),
                                .num_heads = size(expert, "num_heads"),
                                .num_kv_heads = size(expert, "num_kv_heads"),
                                .head_dim = size(expert, "head_dim")};
  config.num_bins = size(head, "num_bins");
  config.max_token_len = 7;
  return config;
}

/// The tiny model with its weights, and its batch. Cameras stand in reverse order: the model sorts them.
struct TinyValue {
  std::unique_ptr<ValueModel> model;
  ValueBatch batch;
  at::Tensor targets;

  explicit TinyValue(const ValueOptions& options = {}, const ValueConfig& config = tiny_value_config())
      : model(std::make_unique<ValueModel>(config, options)) {
    load_value_weights(*model, testing::tests_path(tiny_value_path("weights.safetensors")));
    set_trainable(*model, /*freeze_vision_encoder=*/false, /*freeze_vlm=*/false);
    const SafetensorsFile file = inputs();
    for (const char* name : {"right_wrist_0_rgb", "left_wrist_0_rgb", "base_0_rgb"}) {
      batch.cameras.push_back({.name = name,
                               .pixels = file.get(std::string("images.") + name),
                               .mask = file.get(std::string("image_masks.") + name).to(at::kBool)});
    }
    batch.tokens = file.get("tokenized_prompt");
    batch.token_mask = file.get("tokenized_prompt_mask").to(at::kBool);
    targets = file.get("target_values");
  }
  static SafetensorsFile inputs() { return testing::golden("recap_value/value_model_tiny/inputs.safetensors"); }
  at::Tensor logits() const { return model->logits(batch); }
  at::Tensor param(const std::string& name) const {
    for (const auto& [key, tensor] : nn::named_params(*model)) {
      if (key == name) {
        return tensor;
      }
    }
    throw Error(ErrorKind::kRuntime, "no parameter " + name);
  }
};

inline SafetensorsFile tiny_value_expected() {
  return testing::golden("recap_value/value_model_tiny/expected.safetensors");
}

}  // namespace flexor::models
