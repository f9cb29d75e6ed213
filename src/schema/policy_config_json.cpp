// LeRobot's and openpi's config.json.
#include <array>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "config/field_table.h"
#include "config/load.h"
#include "schema/policy_config.h"

namespace flexor::schema {
namespace {

/// Constants of the architecture that our config.json states for the reader's sake.
const std::array<std::pair<std::string_view, double>, 3> kFixedSizes = {
    {{"layer_norm_eps", 1e-6}, {"rms_norm_eps", 1e-6}, {"rope_theta", 10000.0}}};

constexpr const char* kHint = "copy config.json from the policy again, or put the value right";
constexpr int64_t kMaxAxisSize = 1 << 20;  // of one axis of a feature

int64_t axis_from_json(const Json& json) {
  const int64_t size = json.as_int();
  if (size < 1 || size > kMaxAxisSize) {
    throw Error(ErrorKind::kCheckpoint, str_cat("'shape': expected sizes of 1 to ", kMaxAxisSize, ", found ", size));
  }
  return size;
}

std::vector<PolicyFeature> features_from_json(const Json& json, const std::string& where) {
  std::vector<PolicyFeature> features;
  for (const auto& [name, entry] : json.as_object()) {
    try {
      PolicyFeature feature{name, feature_type_from_name(entry.at("type").as_string()), {}};
      for (const Json& size : entry.at("shape").as_array()) {
        feature.shape.push_back(axis_from_json(size));
      }
      features.push_back(std::move(feature));
    } catch (const Error& error) {
      throw Error(ErrorKind::kCheckpoint, error.what(), str_cat(where, ", ", name), kHint);
    }
  }
  return features;
}

Json features_to_json(const std::vector<PolicyFeature>& features) {
  Json object = Json::object();
  for (const PolicyFeature& feature : features) {
    object[feature.name] =
        Json::object({{"type", Json(feature_type_name(feature.type))}, {"shape", Json(feature.shape)}});
  }
  return object;
}

/// Removes the constants from `architecture`. @throws Error(kCheckpoint) if one has another value
Json without_fixed_sizes(Json architecture, const std::string& where) {
  for (const auto& [key, expected] : kFixedSizes) {
    const Json* value = architecture.find(key);
    if (value != nullptr && (!value->is_number() || value->as_double() != expected)) {
      throw Error(ErrorKind::kCheckpoint, str_cat("expected ", expected, ", found ", value->dump()),
                  str_cat(where, ", architecture.", key), "Flexor computes with this constant only");
    }
    architecture.erase(key);
  }
  return architecture;
}

}  // namespace

PolicyConfig policy_config_from_json(const Json& json, const std::string& where) {
  try {
    PolicyConfig config = default_policy_config(json.at("type").as_string());
    config::FieldTable table;
    fields(table, config);
    Json known = Json::object();
    for (const auto& [key, value] : json.as_object()) {
      if (key == "input_features") {
        config.input_features = features_from_json(value, where);
      } else if (key == "output_features") {
        config.output_features = features_from_json(value, where);
      } else if (key == "architecture" && value.is_object()) {
        known[key] = without_fixed_sizes(value, where);
      } else if (key == "rtc_config" && value.is_object()) {
        known[key] = value;
        known[key].erase("debug");
        known[key].erase("debug_maxlen");
      } else if (table.find(key) != nullptr) {
        known[key] = value;
      } else {
        config.extra[key] = value;
      }
    }
    config::bind_json(table, known, where, ErrorKind::kCheckpoint);
    return config;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kCheckpoint) {
      throw;
    }
    throw Error(ErrorKind::kCheckpoint, error.what(), where, error.hint().empty() ? kHint : error.hint());
  }
}

PolicyConfig policy_config_from_openpi(const Json& json, std::string_view type, const std::string& where) {
  PolicyConfig config = default_policy_config(type);
  try {
    if (const Json* value = json.find("action_dim")) {
      config.max_action_dim = config.max_state_dim = value->as_int();
    }
    if (const Json* value = json.find("action_horizon")) {
      config.chunk_size = config.n_action_steps = value->as_int();
    }
    if (const Json* value = json.find("paligemma_variant")) {
      config.paligemma_variant = value->as_string();
    }
    if (const Json* value = json.find("action_expert_variant")) {
      config.action_expert_variant = value->as_string();
    }
    if (const Json* value = json.find("precision")) {
      config.dtype = value->as_string();
    }
    config.sizes();  // for unknown variants
  } catch (const Error& error) {
    throw Error(ErrorKind::kCheckpoint, error.what(), where, kHint);
  }
  return config;
}

Json to_json(const PolicyConfig& config) {
  PolicyConfig copy = config;
  copy.dtype = config.dtype == "bfloat16" ? "bfloat16" : "float32";
  config::FieldTable table;
  fields(table, copy);
  const Json written = table.write();
  Json out = Json::object();
  for (const auto& [key, value] : written.as_object()) {
    if (key == "architecture") {
      continue;
    }
    out[key] = value;
    if (key == "n_obs_steps") {
      out["input_features"] = features_to_json(config.input_features);
      out["output_features"] = features_to_json(config.output_features);
    }
  }
  if (config.rtc_config) {
    out["rtc_config"]["debug"] = Json(false);
    out["rtc_config"]["debug_maxlen"] = Json(100);
  }
  for (const auto& [key, value] : config.extra.as_object()) {
    out[key] = value;
  }
  if (config.architecture) {
    Json architecture = written.at("architecture");
    for (const auto& [key, value] : kFixedSizes) {
      architecture[key] = Json(value);
    }
    out["architecture"] = std::move(architecture);
  }
  return out;
}

}  // namespace flexor::schema
