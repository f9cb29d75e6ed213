#include "data/processor.h"

#include <ATen/ops/isfinite.h>
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "device/device.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace flexor::data {
namespace {

using schema::FeatureType;
using schema::NormMode;
using schema::PolicyFeature;

NormMode mode_of(const ProcessorConfig& config, FeatureType type) {
  const auto it = config.norm_map.find(type);
  return it == config.norm_map.end() ? NormMode::kIdentity : it->second;
}

const PolicyFeature* find_feature(const ProcessorConfig& config, std::string_view name) {
  const auto it = std::find_if(config.features.begin(), config.features.end(),
                               [&](const PolicyFeature& feature) { return feature.name == name; });
  return it == config.features.end() ? nullptr : &*it;
}

FeatureNormalizer make_normalizer(const ProcessorConfig& config, const PolicyFeature& feature) {
  const auto stats = config.stats.find(feature.name);
  return FeatureNormalizer(feature, mode_of(config, feature.type),
                           stats == config.stats.end() ? nullptr : &stats->second, config.eps, config.formula);
}

int64_t width_of(const PolicyFeature& feature) {
  return feature.shape.empty() ? 1 : feature.shape[0];
}

std::string place_of(const RawBatch& raw, int64_t row) {
  const auto index = static_cast<size_t>(row);
  if (index >= raw.episodes.size() || index >= raw.frames.size()) {
    return str_cat("row ", row, " of the batch");
  }
  return str_cat("episode ", raw.episodes[index], ", frame ", raw.frames[index]);
}

/// @param values  [B, D] or [B, T, D]
void check_values(const RawBatch& raw, std::string_view name, const Tensor& values, int64_t width) {
  if (values.size(-1) != width) {
    throw Error(
        ErrorKind::kData, str_cat(name, " has ", values.size(-1), " values a frame, the policy expects ", width),
        place_of(raw, 0),
        "the policy was made for another robot; rename_map, or train from a base policy whose sizes come from the "
        "dataset");
  }
  const Tensor finite = at::isfinite(values);
  if (!finite.all().item<bool>()) {
    const Tensor first = finite.logical_not().nonzero()[0];
    const int64_t row = first[0].item<int64_t>(), dim = first[-1].item<int64_t>();
    throw Error(ErrorKind::kData, str_cat(name, " is not a finite number at dim ", dim), place_of(raw, row),
                "repair or leave out this episode: dataset.episodes");
  }
}

std::vector<std::string> camera_names(const ProcessorConfig& config) {
  std::vector<std::string> names;
  for (const PolicyFeature& feature : config.features) {
    if (feature.type == FeatureType::kVisual) {
      names.push_back(feature.name);
    }
  }
  return names;
}

/// Cameras that the policy knows, on the device.
std::vector<schema::CameraBatch> known_cameras(const ProcessorConfig& config, const RawBatch& raw,
                                               const at::Device& device) {
  std::vector<schema::CameraBatch> cameras;
  std::vector<std::string> present;
  for (const schema::CameraBatch& camera : raw.cameras) {
    present.push_back(camera.name);
    const PolicyFeature* feature = find_feature(config, camera.name);
    if (feature != nullptr && feature->type == FeatureType::kVisual) {
      cameras.push_back({camera.name, device::place(camera.pixels, device)});
    }
  }
  if (cameras.empty()) {
    throw no_known_camera(present, camera_names(config), place_of(raw, 0));
  }
  return cameras;
}

}  // namespace

ProcessorConfig make_processor_config(const schema::PolicyConfig& policy, schema::NormStats stats,
                                      std::map<std::string, std::string> rename_map) {
  ProcessorConfig config;
  config.policy_type = policy.type;
  config.rename_map = std::move(rename_map);
  config.features = policy.input_features;
  config.features.insert(config.features.end(), policy.output_features.begin(), policy.output_features.end());
  config.norm_map = policy.normalization_mapping;
  config.stats = std::move(stats);
  config.prompt = policy.is_pi05() ? PromptStyle::kState : PromptStyle::kNewline;
  config.relative = {.enabled = policy.use_relative_actions,
                     .exclude_joints = policy.relative_exclude_joints,
                     .action_names = policy.action_feature_names};
  config.max_length = policy.tokenizer_max_length;
  config.device = policy.device;
  return config;
}

Error no_known_camera(const std::vector<std::string>& present, const std::vector<std::string>& wanted,
                      const std::string& where) {
  if (present.empty()) {
    return {ErrorKind::kData, "the dataset has no camera, and the policy needs at least one", where};
  }
  return {ErrorKind::kData,
          str_cat("no camera of the policy in the data: it has ", join_text(present, ", "), ", the policy wants ",
                  join_text(wanted, ", ")),
          where, "rename_map: {\"name in the data\": \"name of the policy\"}"};
}

void use_cleaned_tasks(ProcessorConfig& config) {
  if (config.prompt == PromptStyle::kNewline) {
    config.prompt = PromptStyle::kOpenpi;
  }
}

Processor::Processor(ProcessorConfig config, std::optional<Tokenizer> tokenizer)
    : config_(std::move(config)), tokenizer_(std::move(tokenizer)) {
  if (const NormMode mode = mode_of(config_, FeatureType::kVisual); mode != NormMode::kIdentity) {
    throw Error(ErrorKind::kConfig, str_cat("pictures are to be normalised by ", schema::norm_mode_name(mode)),
                "policy.normalization_mapping.VISUAL",
                "VISUAL: IDENTITY; pi0 and pi0.5 scale pictures to [-1, 1] themselves");
  }
  if (const PolicyFeature* state = find_feature(config_, schema::kStateKey)) {
    state_dim_ = width_of(*state);
    state_ = make_normalizer(config_, *state);
  }
  const PolicyFeature* action = find_feature(config_, schema::kActionKey);
  if (action == nullptr) {
    throw Error(ErrorKind::kConfig, "the policy has no output feature `action`", "output_features");
  }
  action_dim_ = width_of(*action);
  action_ = make_normalizer(config_, *action);
  if (config_.relative.enabled) {
    relative_mask_ = relative_mask(config_.relative, action_dim_);
  }
}

const Tokenizer& Processor::tokenizer() const {
  if (!tokenizer_) {
    throw missing_tokenizer("the policy's folder holds no tokenizer", config_.tokenizer_name);
  }
  return *tokenizer_;
}

Tensor Processor::normalized_state(const RawBatch& raw) const {
  if (!raw.state.defined()) {
    return {};
  }
  check_values(raw, schema::kStateKey, raw.state, state_dim_);
  return state_.normalize(raw.state);
}

Tensor Processor::normalized_action(const RawBatch& raw) const {
  if (!raw.action.defined()) {
    return {};
  }
  check_values(raw, schema::kActionKey, raw.action, action_dim_);
  return action_.normalize(config_.relative.enabled ? to_relative(raw.action, raw.state, relative_mask_) : raw.action);
}

std::vector<std::string> Processor::prompts(const RawBatch& raw) const {
  return make_prompts(config_.prompt, raw.tasks, normalized_state(raw));
}

schema::Batch Processor::preprocess(const RawBatch& raw, const at::Device& device) const {
  const auto place = [&](const Tensor& tensor) { return device::place(tensor, device); };
  const Tensor state = normalized_state(raw);
  const TokenBatch tokens =
      tokenizer().encode_batch(make_prompts(config_.prompt, raw.tasks, state), config_.max_length);
  return {.cameras = known_cameras(config_, raw, device),
          .tokens = place(tokens.tokens),
          .token_mask = place(tokens.mask),
          .state = place(state),
          .action = place(normalized_action(raw)),
          .action_is_pad = place(raw.action_is_pad)};
}

Tensor Processor::unnormalize(const Tensor& actions, const Tensor& raw_state) const {
  if (actions.size(-1) < action_dim_) {
    throw Error(ErrorKind::kData,
                str_cat("actions ", shape_text(actions.sizes()), " have fewer than ", action_dim_, " values"),
                "unnormalizer");
  }
  const Tensor physical = action_.unnormalize(actions.narrow(-1, 0, action_dim_));
  return config_.relative.enabled ? to_absolute(physical, raw_state, relative_mask_) : physical;
}

Tensor Processor::unnormalize_state(const Tensor& state) const {
  if (state.size(-1) < state_dim_) {
    throw Error(ErrorKind::kData,
                str_cat("state ", shape_text(state.sizes()), " has fewer than ", state_dim_, " values"),
                "unnormalizer");
  }
  return state_.unnormalize(state.narrow(-1, 0, state_dim_));
}

void Processor::save(const std::string& folder) const {
  ProcessorConfig config = config_;
  constexpr int64_t kGemmaSize = 256000;
  if (config.tokenizer_name == ProcessorConfig{}.tokenizer_name && tokenizer().vocab_size() < kGemmaSize) {
    config.tokenizer_name = "tokenizer";  // another vocabulary than the Hub's: only the copy is right
  }
  write_processor(config, folder);
  tokenizer().save(folder + "/tokenizer");
}

}  // namespace flexor::data
