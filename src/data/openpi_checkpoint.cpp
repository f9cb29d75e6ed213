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

/// What openpi's config.json says, in LeRobot's words; sizes may be given as in ours (`architecture`).
schema::PolicyConfig policy_config(const Json& json, const std::string& path, const std::string& type,
                                   int64_t state_dim, int64_t action_dim) {
  using schema::FeatureType;
  const Json &horizon = json.at("action_horizon"), &width = json.at("action_dim");
  Json words = Json::object({{"type", type},
                             {"chunk_size", horizon},
                             {"n_action_steps", horizon},
                             {"max_state_dim", width},
                             {"max_action_dim", width}});
  if (const Json* precision = json.find("precision")) {
    words["dtype"] = *precision;
  }
  for (const char* key : {"paligemma_variant", "action_expert_variant", "image_resolution", "architecture"}) {
    if (const Json* value = json.find(key); value != nullptr && !value->is_null()) {
      words[key] = *value;
    }
  }
  schema::PolicyConfig config = schema::policy_config_from_json(words, path);
  const std::vector<int64_t> picture = {3, config.image_resolution[0], config.image_resolution[1]};
  config.input_features.clear();
  for (const char* camera : {"base_0_rgb", "left_wrist_0_rgb", "right_wrist_0_rgb"}) {
    config.input_features.push_back({str_cat(schema::kImagePrefix, camera), FeatureType::kVisual, picture});
  }
  config.input_features.push_back({std::string(schema::kStateKey), FeatureType::kState, {state_dim}});
  config.output_features = {{std::string(schema::kActionKey), FeatureType::kAction, {action_dim}}};
  return config;
}

/// Values a frame by the statistics, `fallback` without any.
int64_t width_of(const schema::NormStats& stats, std::string_view name, int64_t fallback) {
  const auto it = stats.find(name);
  return it == stats.end() ? fallback : static_cast<int64_t>(it->second.at("mean").size());
}

}  // namespace

std::optional<OpenpiCheckpoint> read_openpi_checkpoint(const std::string& folder, const std::string& norm_stats) {
  const std::string path = (fs::path(folder) / "config.json").string();
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) {
    return std::nullopt;
  }
  const Json json = Json::read_file(path);
  if (json.find("type") != nullptr || json.find("action_horizon") == nullptr) {
    return std::nullopt;
  }
  const std::string stats_path = norm_stats.empty() ? find_norm_stats(folder) : norm_stats;
  schema::NormStats stats = stats_path.empty() ? schema::NormStats{} : read_openpi_norm_stats(stats_path);
  OpenpiCheckpoint checkpoint;
  try {
    const int64_t width = json.at("action_dim").as_int();
    checkpoint.policy =
        policy_config(json, path, policy_type((fs::path(folder) / "model.safetensors").string()),
                      width_of(stats, schema::kStateKey, width), width_of(stats, schema::kActionKey, width));
  } catch (const Error& error) {
    throw Error(error.kind() == ErrorKind::kFile ? ErrorKind::kFile : ErrorKind::kCheckpoint, error.what(),
                error.where().empty() ? path : error.where(), error.hint());
  }
  checkpoint.processor = make_processor_config(checkpoint.policy, std::move(stats));
  checkpoint.processor.formula = NormFormula::kOpenpi;
  checkpoint.processor.prompt = checkpoint.policy.is_pi05() ? PromptStyle::kState : PromptStyle::kOpenpi;
  return checkpoint;
}

}  // namespace flexor::data
