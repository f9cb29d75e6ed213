#pragma once
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/value_config.h"
#include "models/value_model.h"
#include "models/value_net.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"

namespace flexor::models {

/// What a STEAM ensemble is, beside its weights: config.json of its checkpoints.
struct SteamConfig {
  std::string model_type = "steam_value_model";
  int64_t format_version = 1;
  int64_t ensemble_size = 3;
  ValueArchitecture architecture;  ///< its expert is not used
  int64_t k = 32, num_bins = 32;   ///< largest stride, and bins of the signed stride
  int64_t projection_dim = 512;
  double dropout = 0.1;
  int64_t max_token_len = 200;
  std::array<double, 3> image_mean = {0.5, 0.5, 0.5}, image_std = {0.5, 0.5, 0.5};  ///< of pictures in [0, 1]
  std::string robot_type;
};
void fields(config::FieldTable& table, SteamConfig& config);
std::vector<config::Finding> check(const SteamConfig& config, const std::string& prefix);
SteamConfig steam_config_from_json(const Json& json, const std::string& where);  ///< @throws Error(kCheckpoint)
Json to_json(const SteamConfig& config);
/// image_mean and image_std of a Hugging Face folder's preprocessor_config.json, if it has one.
void read_picture_scale(const std::string& folder, SteamConfig& config);

/// Pairs of frames. Cameras hold pictures of both: rows 0..B-1 the first frames, rows B..2B-1 the second ones.
struct SteamBatch {
  std::vector<ValueCamera> cameras;  ///< pixels [2 B, 3, S, S] uint8 or float32 in [0, 1], mask [2 B] or undefined
  at::Tensor tokens;                 ///< [B, L] int64
  at::Tensor token_mask;             ///< [B, L] bool
  int64_t size() const { return tokens.size(0); }
};

/// One member: SigLIP's pooled feature of each camera and frame, and the mean of Gemma3's last hidden states of the
/// prompt, projected to `projection_dim`; a small network on [first frame, second frame, text] gives the logits of the
/// signed stride from the first frame to the second.
struct SteamMember {
  VisionTower vision;
  Gemma3Stack gemma3;
  nn::Linear image_proj, text_proj;  ///< to projection_dim
  nn::LayerNorm head_norm;           ///< over 3 * projection_dim
  nn::Linear head_hidden, head_out;

  void params(nn::ParamVisitor& v);
};

/// E members of the same kind. Not thread-safe.
class SteamEnsemble {
 public:
  /// Uninitialised float32 parameters. @throws Error(kConfig)
  explicit SteamEnsemble(const SteamConfig& config, const ValueOptions& options = {});

  SteamConfig& config() { return config_; }
  const SteamConfig& config() const { return config_; }
  ValueOptions& options() { return options_; }
  std::vector<SteamMember>& members() { return members_; }
  /// "members.0.vision_tower...", ...
  void params(nn::ParamVisitor& visitor);
  /// One sequence a member: SigLIP's layers, the embedding, Gemma3's layers.
  ModelBlocks blocks() const;

  /// @param dropout  null: none  @return [B, num_bins] float32  @throws Error(kData)
  at::Tensor logits(size_t member, const SteamBatch& batch, at::Generator* dropout = nullptr);
  /// Of all members, without dropout: [E, B, num_bins].
  at::Tensor all_logits(const SteamBatch& batch);

 private:
  SteamConfig config_;
  ValueOptions options_;
  std::vector<SteamMember> members_;
};

/// Random parameters: a backbone that all members share (drawn once, then cloned), heads of their own, seeded by
/// `head_seed` + member: uniform in +-1/sqrt(inputs), as PyTorch's Linear.
void init_steam(SteamEnsemble& ensemble, at::Generator& backbone, uint64_t head_seed);
/// The same with SigLIP and Gemma3 out of Hugging Face folders where the paths are not empty.
void load_steam_backbone(SteamEnsemble& ensemble, const std::string& siglip, const std::string& gemma3);
void set_trainable(SteamEnsemble& ensemble, bool freeze_vision_encoder, bool freeze_vlm);

void save_steam_weights(SteamEnsemble& ensemble, const std::string& file);
/// @param folder  holds config.json and model.safetensors  @throws Error(kFile), Error(kCheckpoint)
std::unique_ptr<SteamEnsemble> open_steam(const std::string& folder, const ValueOptions& options = {});

}  // namespace flexor::models
