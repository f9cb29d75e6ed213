#pragma once
// For tests only: the tiny policy of tests/golden/recap/cfg_policy_tiny, trained and sampled with advantage labels by
// RLinf's own class.
#include <map>
#include <memory>
#include <string>

#include "base/json.h"
#include "models/policy_model.h"
#include "models/weights.h"
#include "schema/batch.h"
#include "schema/policy_config.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::models {

struct CfgGolden {
  std::unique_ptr<PolicyModel> model;
  SafetensorsFile inputs, expected;
  Json meta;

  static schema::GemmaSize gemma_size(const Json& json) {
    return {.width = json.at("width").as_int(),
            .depth = json.at("depth").as_int(),
            .mlp_dim = json.at("mlp_dim").as_int(),
            .num_heads = json.at("num_heads").as_int(),
            .num_kv_heads = json.at("num_kv_heads").as_int(),
            .head_dim = json.at("head_dim").as_int()};
  }

  static schema::PolicyConfig config(const Json& meta) {
    schema::PolicyConfig config = schema::default_policy_config("pi05");
    const Json& vision = meta.at("vision");
    const int64_t side = vision.at("image_size").as_int(), action_dim = meta.at("action_dim").as_int();
    for (const char* camera : {"base_0_rgb", "left_wrist_0_rgb", "right_wrist_0_rgb"}) {
      config.input_features.push_back(
          {std::string(schema::kImagePrefix) + camera, schema::FeatureType::kVisual, {3, side, side}});
    }
    config.input_features.push_back({std::string(schema::kStateKey), schema::FeatureType::kState, {action_dim}});
    config.output_features = {{std::string(schema::kActionKey), schema::FeatureType::kAction, {action_dim}}};
    config.image_resolution = {side, side};
    config.chunk_size = config.n_action_steps = meta.at("action_horizon").as_int();
    config.max_action_dim = config.max_state_dim = action_dim;
    config.num_inference_steps = meta.at("num_steps").as_int();
    config.tokenizer_max_length = meta.at("max_token_len").as_int();
    config.architecture = schema::Architecture{.vocab_size = meta.at("vocab_size").as_int(),
                                               .vision = {.width = vision.at("hidden_size").as_int(),
                                                          .depth = vision.at("num_hidden_layers").as_int(),
                                                          .num_heads = vision.at("num_attention_heads").as_int(),
                                                          .mlp_dim = vision.at("intermediate_size").as_int(),
                                                          .patch_size = vision.at("patch_size").as_int()},
                                               .paligemma = gemma_size(meta.at("paligemma_text")),
                                               .action_expert = gemma_size(meta.at("action_expert"))};
    return config;
  }

  static CfgGolden open(const std::string& dtype = "float32", ComputeOptions options = {}) {
    Json meta = Json::read_file(testing::tests_path("golden/recap/cfg_policy_tiny/config.json"));
    schema::PolicyConfig sizes = config(meta);
    sizes.dtype = dtype;
    CfgGolden golden{make_policy(sizes, options), testing::golden("recap/cfg_policy_tiny/inputs.safetensors"),
                     testing::golden("recap/cfg_policy_tiny/expected.safetensors"), std::move(meta)};
    load_weights(*golden.model, testing::tests_path("golden/recap/cfg_policy_tiny/weights.safetensors"));
    return golden;
  }

  /// The pictures, which the file holds in [-1, 1], state, and the prompt `name`.
  schema::Batch batch(const std::string& name = "tokenized_prompt") const {
    schema::Batch batch;
    for (const char* camera : {"base_0_rgb", "left_wrist_0_rgb", "right_wrist_0_rgb"}) {
      const std::string key = camera;
      if (inputs.get("image_masks." + key).all().item<bool>()) {
        batch.cameras.push_back({std::string(schema::kImagePrefix) + key, (inputs.get("images." + key) + 1.0) / 2.0});
      }
    }
    batch.tokens = inputs.get(name);
    batch.token_mask = inputs.get(name + "_mask").to(at::kBool);
    batch.state = inputs.get("state");
    return batch;
  }

  GuidedPrompt guided(double weight, const std::string& label = "positive") const {
    const schema::Batch prompt = batch("tokenized_" + label + "_guidance_prompt");
    return {prompt.tokens, prompt.token_mask, weight};
  }
};

}  // namespace flexor::models
