#include <filesystem>

#include "base/error.h"
#include "base/str_cat.h"
#include "config/field_table.h"
#include "config/finding.h"
#include "config/load.h"
#include "models/steam_model.h"

namespace flexor::models {

void fields(config::FieldTable& table, SteamConfig& c) {
  table("model_type", c.model_type, "kind of model").choices({"steam_value_model"});
  table("format_version", c.format_version, "of this file").range(1, 1);
  table("ensemble_size", c.ensemble_size, "members").range(1, 1000);
  table.section("architecture", c.architecture, "sizes");
  table("k", c.k, "largest stride").range(1, 1e6);
  table("num_bins", c.num_bins, "bins of the signed stride").range(2, 1e5);
  table("projection_dim", c.projection_dim, "width of the head").range(1, 1e5);
  table("dropout", c.dropout, "of the head").range(0, 0.999);
  table("max_token_len", c.max_token_len, "tokens of the prompt").range(1, 1e5);
  table("image_mean", c.image_mean, "of pictures in [0, 1]").range(-1e3, 1e3);
  table("image_std", c.image_std, "of pictures in [0, 1]").range(1e-6, 1e3);
  table("robot_type", c.robot_type, "that the cameras were named by");
}

std::vector<config::Finding> check(const SteamConfig& config, const std::string& prefix) {
  ValueConfig sizes;
  sizes.architecture = config.architecture;
  sizes.architecture.expert.head_dim = config.architecture.gemma3.head_dim;  // there is no expert
  sizes.architecture.expert.num_kv_heads = config.architecture.gemma3.num_kv_heads;
  sizes.architecture.expert.num_heads = config.architecture.gemma3.num_kv_heads;
  sizes.architecture.expert.depth = 1;
  return check(sizes, prefix);
}

SteamConfig steam_config_from_json(const Json& json, const std::string& where) {
  SteamConfig config;
  config::FieldTable table;
  fields(table, config);
  config::bind_json(table, json, where, ErrorKind::kCheckpoint);
  if (const auto findings = check(config, ""); !findings.empty()) {
    const Error error = config::to_error(findings, ErrorKind::kCheckpoint);
    throw Error(ErrorKind::kCheckpoint, error.what(), where, error.hint());
  }
  return config;
}

Json to_json(const SteamConfig& config) {
  SteamConfig copy = config;
  config::FieldTable table;
  fields(table, copy);
  return table.write();
}

void read_picture_scale(const std::string& folder, SteamConfig& config) {
  const std::string path = folder + "/preprocessor_config.json";
  if (!std::filesystem::is_regular_file(path)) {
    return;
  }
  const Json json = Json::read_file(path);
  for (const auto& [key, values] :
       {std::pair("image_mean", &config.image_mean), std::pair("image_std", &config.image_std)}) {
    const std::vector<double> found = json.at(key).as_numbers();
    if (found.size() != values->size()) {
      throw Error(ErrorKind::kCheckpoint, str_cat("'", key, "': expected 3 numbers, found ", found.size()), path);
    }
    std::copy(found.begin(), found.end(), values->begin());
  }
}

}  // namespace flexor::models
