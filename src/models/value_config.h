#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "schema/policy_config.h"

namespace flexor::config {
class FieldTable;
struct Finding;
}  // namespace flexor::config

namespace flexor::models {

/// Sizes of a Gemma3 text model; defaults: gemma-3-270m.
struct Gemma3Size {
  int64_t vocab_size = 262144, width = 640, depth = 18, mlp_dim = 2048;
  int64_t num_heads = 4, num_kv_heads = 1, head_dim = 256;
  double query_pre_attn_scalar = 256.0;  ///< queries are scaled by its inverse root
  double rope_theta = 1e6, rope_local_base_freq = 1e4;
  int64_t sliding_window = 512;  ///< keys that a query of the other layers sees; the value model switches it off
  std::vector<int64_t> full_layers = {5, 11, 17};  ///< those with rope_theta; the others take rope_local_base_freq
  friend bool operator==(const Gemma3Size&, const Gemma3Size&) = default;
};
void fields(config::FieldTable& table, Gemma3Size& size);

/// Sizes of the three parts of the value model; defaults: SigLIP2-so400m/14, Gemma3-270M, critic expert gemma_1m.
struct ValueArchitecture {
  int64_t image_size = 224;
  schema::VisionSize vision;
  Gemma3Size gemma3;
  schema::GemmaSize expert{
      .width = 128, .depth = 4, .mlp_dim = 448, .num_heads = 1, .num_kv_heads = 1, .head_dim = 256};
  friend bool operator==(const ValueArchitecture&, const ValueArchitecture&) = default;
};
void fields(config::FieldTable& table, ValueArchitecture& architecture);

/// "dummy", "gemma_1m", "gemma_50m", "gemma_100m", "gemma_150m", "gemma_300m", "gemma_2b". @throws Error(kConfig)
schema::GemmaSize critic_expert_variant(std::string_view name);

/// What a trained value model is, beside its weights: config.json of its checkpoints.
struct ValueConfig {
  std::string model_type = "recap_value_model";
  int64_t format_version = 1;
  ValueArchitecture architecture;
  int64_t num_bins = 201;
  double v_min = -1.0, v_max = 0.0;
  double value_dropout = 0.0;
  int64_t max_token_len = 200;
  bool scale_cls_embedding = false;  ///< [CLS] times sqrt(width), as transformers without openpi's files do
  std::string robot_type;            ///< that the cameras were named by
  std::string returns_tag;
  bool normalize_to_minus_one_zero = true;       ///< target = G / |G_min|; else (G - G_min) / (G_max - G_min)
  std::optional<double> return_min, return_max;  ///< the range that targets were normalised by; null: not known
};
void fields(config::FieldTable& table, ValueConfig& config);

/// Sizes that contradict each other: all of them. @param prefix  of the keys, "actor.model."
std::vector<config::Finding> check(const ValueConfig& config, const std::string& prefix);

/// From config.json. @throws Error(kCheckpoint) naming key and file
ValueConfig value_config_from_json(const Json& json, const std::string& where);
Json to_json(const ValueConfig& config);

/// Sizes out of the config.json of a Hugging Face SigLIP (its vision_config, if it has one) and Gemma3 folder.
/// @throws Error(kCheckpoint) for another kind of model
void read_siglip_size(const std::string& folder, ValueArchitecture& architecture);
void read_gemma3_size(const std::string& folder, ValueArchitecture& architecture);

}  // namespace flexor::models
