#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "schema/policy_feature.h"

namespace flexor::config {
class FieldTable;
struct Finding;
}  // namespace flexor::config

namespace flexor::schema {

/// Sizes of the SigLIP vision tower; defaults: so400m/14.
struct VisionSize {
  int64_t width = 1152, depth = 27, num_heads = 16, mlp_dim = 4304, patch_size = 14;
  friend bool operator==(const VisionSize&, const VisionSize&) = default;
};

/// Sizes of one Gemma stack; defaults: gemma_2b.
struct GemmaSize {
  int64_t width = 2048, depth = 18, mlp_dim = 16384, num_heads = 8, num_kv_heads = 1, head_dim = 256;
  friend bool operator==(const GemmaSize&, const GemmaSize&) = default;
};
/// "gemma_2b" or "gemma_300m". @throws Error(kConfig)
GemmaSize gemma_variant(std::string_view name);

/// `architecture` of our config.json; absent in real checkpoints, where the variants' names decide.
struct Architecture {
  int64_t vocab_size = 257152;
  VisionSize vision;
  GemmaSize paligemma;
  GemmaSize action_expert{
      .width = 1024, .depth = 18, .mlp_dim = 4096, .num_heads = 8, .num_kv_heads = 1, .head_dim = 256};
  friend bool operator==(const Architecture&, const Architecture&) = default;
};

/// Real-time chunking (spec: `rtc_config` of LeRobot's config.json).
struct RtcConfig {
  bool enabled = true;
  std::string prefix_attention_schedule = "LINEAR";  ///< ZEROS, ONES, LINEAR, EXP
  double max_guidance_weight = 10.0;
  int64_t execution_horizon = 10;
};

/// LeRobot's config.json of a pi0 or pi0.5 policy; every field is also a key below `policy.` of the run's
/// configuration.
struct PolicyConfig {
  std::string type = "pi05";  ///< "pi0" or "pi05"
  int64_t n_obs_steps = 1;
  std::vector<PolicyFeature> input_features;  ///< file order, which is the camera order
  std::vector<PolicyFeature> output_features;
  std::string device = "cpu";
  std::string paligemma_variant = "gemma_2b", action_expert_variant = "gemma_300m";
  std::string dtype = "float32";  ///< float32, bfloat16; the run's configuration also takes bfloat16_autocast
  int64_t chunk_size = 50, n_action_steps = 50;
  int64_t max_state_dim = 32, max_action_dim = 32;
  int64_t num_inference_steps = 10;
  double time_sampling_beta_alpha = 1.5, time_sampling_beta_beta = 1.0;
  double time_sampling_scale = 0.999, time_sampling_offset = 0.001;
  double min_period = 4e-3, max_period = 4.0;
  bool use_relative_actions = false;
  std::vector<std::string> relative_exclude_joints = {"gripper"};
  std::optional<std::vector<std::string>> action_feature_names;
  std::optional<RtcConfig> rtc_config;
  std::array<int64_t, 2> image_resolution = {224, 224};  ///< height, width; square
  int64_t empty_cameras = 0;
  int64_t tokenizer_max_length = 200;                     ///< 48 for pi0
  std::map<FeatureType, NormMode> normalization_mapping;  ///< by default those of the type
  bool gradient_checkpointing = false;
  bool freeze_vision_encoder = false, train_expert_only = false;
  double optimizer_lr = 2.5e-5;
  std::array<double, 2> optimizer_betas = {0.9, 0.95};
  double optimizer_eps = 1e-8, optimizer_weight_decay = 0.01, optimizer_grad_clip_norm = 1.0;
  int64_t scheduler_warmup_steps = 1000, scheduler_decay_steps = 30000;
  double scheduler_decay_lr = 2.5e-6;
  std::optional<Architecture> architecture;
  Json extra = Json::object();  ///< fields that Flexor does not read, kept for writing back

  bool is_pi05() const { return type == "pi05"; }
  /// `architecture`, or the table sizes that the variants name.
  Architecture sizes() const;
  /// VISUAL input features in file order, then the `empty_cameras`.
  std::vector<PolicyFeature> cameras() const;
  const PolicyFeature* find_input(std::string_view name) const;
  int64_t action_dim() const;  ///< real action dims: output_features.action.shape[0], else max_action_dim
  int64_t state_dim() const;   ///< real state dims, else max_state_dim
};

/// Defaults of LeRobot for "pi0" or "pi05" (prompt length, normalisation). @throws Error(kConfig) for another type
PolicyConfig default_policy_config(std::string_view type);

/// All keys but input_features and output_features, for YAML and the command line.
void fields(config::FieldTable& table, PolicyConfig& config);
void fields(config::FieldTable& table, RtcConfig& config);
void fields(config::FieldTable& table, Architecture& architecture);
void fields(config::FieldTable& table, VisionSize& size);
void fields(config::FieldTable& table, GemmaSize& size);

/// Rules across fields: sizes that fit each other, features that fit the maximal dims, options that Flexor does not
/// have.
/// @param prefix  of the keys in the findings, "policy." or ""
std::vector<config::Finding> check(const PolicyConfig& config, const std::string& prefix);

/// From LeRobot's config.json. Unknown keys go to `extra`. @throws Error(kCheckpoint) naming key and file
PolicyConfig policy_config_from_json(const Json& json, const std::string& where);
/// From the config.json of openpi's PyTorch checkpoints (action_dim, action_horizon, variants, precision), which does
/// not say whether it is pi0 or pi0.5. @throws Error(kCheckpoint)
PolicyConfig policy_config_from_openpi(const Json& json, std::string_view type, const std::string& where);
/// In LeRobot's key order, loadable by its `from_pretrained`; bfloat16_autocast is written as float32, which the
/// weights are.
Json to_json(const PolicyConfig& config);

}  // namespace flexor::schema
