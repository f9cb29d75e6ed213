#include "schema/openpi_policy.h"

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "tensor/safetensors.h"

namespace flexor::schema {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

std::optional<PolicyConfig> read_openpi_policy(const std::string& folder) {
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
  PolicyConfig config = policy_config_from_openpi(json, type, path);
  Json ours = Json::object({{"type", type}});
  for (const char* key : {"image_resolution", "architecture"}) {
    if (const Json* value = json.find(key)) {
      ours[key] = *value;
    }
  }
  const PolicyConfig sizes = policy_config_from_json(ours, path);
  config.image_resolution = sizes.image_resolution;
  config.architecture = sizes.architecture;
  const std::vector<int64_t> picture = {3, config.image_resolution[0], config.image_resolution[1]};
  config.input_features.clear();
  for (const char* camera : {"base_0_rgb", "left_wrist_0_rgb", "right_wrist_0_rgb"}) {
    config.input_features.push_back({str_cat(kImagePrefix, camera), FeatureType::kVisual, picture});
  }
  config.input_features.push_back({std::string(kStateKey), FeatureType::kState, {config.max_state_dim}});
  config.output_features = {{std::string(kActionKey), FeatureType::kAction, {config.max_action_dim}}};
  return config;
}

PolicyConfig read_policy_config(const std::string& folder) {
  const std::string path = (fs::path(folder) / "config.json").string();
  check_input_file(path);
  if (const std::optional<PolicyConfig> openpi = read_openpi_policy(folder)) {
    return *openpi;
  }
  return policy_config_from_json(Json::read_file(path), path);
}

}  // namespace flexor::schema
