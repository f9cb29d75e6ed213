#include "data/openpi_checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"

namespace flexor::data {
namespace {

namespace fs = std::filesystem;

/// The one norm_stats.json below assets/ (an asset id may contain a slash), "" if there is none.
std::string find_norm_stats(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(folder) / "assets", ignored)) {
    if (entry.path().filename() == "norm_stats.json") {
      found.push_back(entry.path().string());
    }
  }
  std::sort(found.begin(), found.end());
  if (found.size() > 1) {
    throw Error(ErrorKind::kCheckpoint, str_cat("several statistics: ", join_text(found, ", ")), folder,
                "name one: policy.norm_stats=FILE");
  }
  return found.empty() ? std::string() : found[0];
}

/// "pi05" or "pi0", by the name of the layers that take the time in.
std::string policy_type(const std::string& weights) {
  check_input_file(weights);
  const SafetensorsFile file = SafetensorsFile::open(weights);
  for (const auto& entry : file.entries()) {
    if (entry.name.ends_with("action_time_mlp_in.weight")) {
      return "pi0";
    }
    if (entry.name.ends_with("time_mlp_in.weight")) {
      return "pi05";
    }
  }
  throw Error(ErrorKind::kCheckpoint, "neither time_mlp_in nor action_time_mlp_in: not the weights of pi0 or pi0.5",
              weights);
}

/// The length of a feature by the statistics.
void set_width(schema::PolicyFeature& feature, const schema::NormStats& stats) {
  if (const auto it = stats.find(feature.name); it != stats.end()) {
    feature.shape = {static_cast<int64_t>(it->second.at("mean").size())};
  }
}

}  // namespace

std::optional<schema::PolicyConfig> read_openpi_policy(const std::string& folder) {
  const std::string path = (fs::path(folder) / "config.json").string();
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) {
    return std::nullopt;
  }
  const Json json = Json::read_file(path);
  if (json.find("type") != nullptr || json.find("action_horizon") == nullptr) {
    return std::nullopt;
  }
  const std::string type = policy_type((fs::path(folder) / "model.safetensors").string());
  schema::PolicyConfig config = schema::policy_config_from_openpi(json, type, path);
  Json ours = Json::object({{"type", type}});
  for (const char* key : {"image_resolution", "architecture"}) {
    if (const Json* value = json.find(key)) {
      ours[key] = *value;
    }
  }
  const schema::PolicyConfig sizes = schema::policy_config_from_json(ours, path);
  config.image_resolution = sizes.image_resolution;
  config.architecture = sizes.architecture;
  const std::vector<int64_t> picture = {3, config.image_resolution[0], config.image_resolution[1]};
  config.input_features.clear();
  for (const char* camera : {"base_0_rgb", "left_wrist_0_rgb", "right_wrist_0_rgb"}) {
    config.input_features.push_back({str_cat(schema::kImagePrefix, camera), schema::FeatureType::kVisual, picture});
  }
  config.input_features.push_back(
      {std::string(schema::kStateKey), schema::FeatureType::kState, {config.max_state_dim}});
  config.output_features = {{std::string(schema::kActionKey), schema::FeatureType::kAction, {config.max_action_dim}}};
  return config;
}

std::optional<OpenpiCheckpoint> read_openpi_checkpoint(const std::string& folder, const std::string& norm_stats) {
  std::optional<schema::PolicyConfig> policy = read_openpi_policy(folder);
  if (!policy) {
    return std::nullopt;
  }
  const std::string stats_path = norm_stats.empty() ? find_norm_stats(folder) : norm_stats;
  schema::NormStats stats = stats_path.empty() ? schema::NormStats{} : read_openpi_norm_stats(stats_path);
  set_width(policy->input_features.back(), stats);
  set_width(policy->output_features.back(), stats);
  OpenpiCheckpoint checkpoint{.policy = *policy, .processor = make_processor_config(*policy, std::move(stats))};
  checkpoint.processor.formula = NormFormula::kOpenpi;
  checkpoint.processor.prompt = policy->is_pi05() ? PromptStyle::kState : PromptStyle::kOpenpi;
  return checkpoint;
}

}  // namespace flexor::data
