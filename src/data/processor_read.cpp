#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "data/processor.h"
#include "data/processor_files.h"
#include "data/processor_steps.h"

// LeRobot's processor files: {"name", "steps": [{"registry_name", "config", "state_file"?}]}, the order of the steps
// being part of the format; statistics lie in safetensors under "<feature>.<stat>", split at the last dot.

namespace flexor::data {
namespace {

namespace fs = std::filesystem;
using schema::NormStats;

std::vector<schema::PolicyFeature> read_features(const Json& json) {
  std::vector<schema::PolicyFeature> features;
  for (const auto& [name, value] : json.as_object()) {
    schema::PolicyFeature feature{name, schema::feature_type_from_name(value.at("type").as_string()), {}};
    for (const Json& size : value.at("shape").as_array()) {
      feature.shape.push_back(size.as_int());
    }
    features.push_back(std::move(feature));
  }
  return features;
}

std::map<schema::FeatureType, schema::NormMode> read_norm_map(const Json& json) {
  std::map<schema::FeatureType, schema::NormMode> modes;
  for (const auto& [type, mode] : json.as_object()) {
    modes[schema::feature_type_from_name(type)] = schema::norm_mode_from_name(mode.as_string());
  }
  return modes;
}

void read_normalizer(const Json& json, ProcessorConfig& config) {
  config.eps = value_of(json, "eps", [](const Json& value) { return value.as_double(); });
  if (!(config.eps >= 0 && config.eps < 1)) {
    throw Error(ErrorKind::kCheckpoint, str_cat("'eps': expected 0 to 1, found ", config.eps));
  }
  config.features = value_of(json, "features", read_features);
  config.norm_map = value_of(json, "norm_map", read_norm_map);
  if (const Json* keys = json.find("normalize_observation_keys"); keys != nullptr && !keys->is_null()) {
    throw Error(ErrorKind::kCheckpoint, "normalize_observation_keys is set: Flexor normalises every feature");
  }
}

void read_relative(const Json& json, ProcessorConfig& config) {
  config.relative.enabled = value_of(json, "enabled", [](const Json& value) { return value.as_bool(); });
  if (const Json* joints = json.find("exclude_joints"); joints != nullptr && !joints->is_null()) {
    config.relative.exclude_joints =
        value_of(json, "exclude_joints", [](const Json& value) { return value.as_strings(); });
  }
  if (const Json* names = json.find("action_names"); names != nullptr && !names->is_null()) {
    config.relative.action_names = value_of(json, "action_names", [](const Json& value) { return value.as_strings(); });
  }
}

void expect_value(const Json& json, const char* key, const Json& expected) {
  if (const Json* value = json.find(key); value != nullptr && *value != expected) {
    throw Error(ErrorKind::kCheckpoint, str_cat(key, " is ", value->dump(), ", expected ", expected.dump()));
  }
}

void read_tokenizer(const Json& json, ProcessorConfig& config) {
  config.max_length = value_of(json, "max_length", [](const Json& value) { return value.as_int(); });
  constexpr int64_t kMostTokens = 100000;
  if (config.max_length < 1 || config.max_length > kMostTokens) {
    throw Error(ErrorKind::kCheckpoint,
                str_cat("max_length is ", config.max_length, ", expected 1 to ", kMostTokens, " tokens"));
  }
  expect_value(json, "task_key", "task");
  expect_value(json, "padding_side", "right");
  expect_value(json, "padding", "max_length");
  if (const Json* name = json.find("tokenizer_name"); name != nullptr && name->is_string()) {
    config.tokenizer_name = name->as_string();
  }
}

void read_preprocessor_step(const StepReader& reader, size_t index, ProcessorConfig& config) {
  const Json& step = reader.steps()[index];
  const Json empty = Json::object();
  const Json& json = step.find("config") == nullptr ? empty : step.at("config");
  const std::string& kind = reader.kinds()[index];
  if (kind == "rename_observations_processor") {
    value_of(json, "rename_map", [&](const Json& renames) {
      for (const auto& [from, to] : renames.as_object()) {
        config.rename_map[from] = to.as_string();
      }
    });
  } else if (kind == "pi0_new_line_processor") {
    config.prompt = PromptStyle::kNewline;
  } else if (kind == "pi05_prepare_state_tokenizer_processor_step") {
    config.prompt = PromptStyle::kState;
  } else if (kind == "relative_actions_processor") {
    read_relative(json, config);
  } else if (kind == "normalizer_processor") {
    read_normalizer(json, config);
    config.stats = reader.stats_of(step);
  } else if (kind == "tokenizer_processor") {
    read_tokenizer(json, config);
  } else if (kind == "device_processor") {
    config.device = value_of(json, "device", [](const Json& value) { return value.as_string(); });
    expect_value(json, "float_dtype", nullptr);
  } else if (kind != "to_batch_processor") {
    reader.unknown(kind);
  }
}

/// The postprocessor must undo what the preprocessor does.
void check_postprocessor(const StepReader& reader, const ProcessorConfig& config) {
  bool unnormalizes = false, absolute = false;
  for (size_t i = 0; i < reader.steps().size(); ++i) {
    const Json& step = reader.steps()[i];
    const std::string& kind = reader.kinds()[i];
    if (kind == "unnormalizer_processor") {
      unnormalizes = true;
      ProcessorConfig post;
      read_normalizer(step.at("config"), post);
      const NormStats stats = reader.stats_of(step);
      const auto mine = config.stats.find(schema::kActionKey), theirs = stats.find(schema::kActionKey);
      const bool same_stats = mine == config.stats.end()
                                  ? theirs == stats.end()
                                  : theirs != stats.end() && mine->second.values == theirs->second.values;
      const auto action = schema::FeatureType::kAction;
      const auto mode = [&](const ProcessorConfig& c) {
        return c.norm_map.contains(action) ? c.norm_map.at(action) : schema::NormMode::kIdentity;
      };
      if (!same_stats || mode(post) != mode(config)) {
        throw Error(ErrorKind::kCheckpoint, "the action is not un-normalised by the statistics that normalise it",
                    reader.path(), "both processors of a policy must come from one save");
      }
    } else if (kind == "absolute_actions_processor") {
      absolute = step.at("config").at("enabled").as_bool();
    } else if (kind != "device_processor") {
      reader.unknown(kind);
    }
  }
  if (!unnormalizes || absolute != config.relative.enabled) {
    throw Error(
        ErrorKind::kCheckpoint,
        unnormalizes ? "relative actions are enabled in one processor only" : "there is no unnormalizer_processor",
        reader.path());
  }
}

}  // namespace

bool has_processor(const std::string& folder) {
  std::error_code ignored;
  return fs::exists(processor_path(folder, kPreprocessor), ignored);
}

ProcessorConfig read_processor(const std::string& folder, const schema::PolicyConfig& policy) {
  ProcessorConfig config;
  config.policy_type = policy.type;
  config.prompt = PromptStyle::kPlain;
  const StepReader pre(folder, kPreprocessor), post(folder, kPostprocessor);
  for (size_t i = 0; i < pre.steps().size(); ++i) {
    at_place(pre.place_of(i), [&] { read_preprocessor_step(pre, i, config); });
  }
  at_place(post.path(), [&] { check_postprocessor(post, config); });
  pre.check_order("relative_actions_processor", "normalizer_processor");
  pre.check_order("normalizer_processor", "pi05_prepare_state_tokenizer_processor_step");
  pre.check_order("pi05_prepare_state_tokenizer_processor_step", "tokenizer_processor");
  pre.check_order("pi0_new_line_processor", "tokenizer_processor");
  return config;
}

}  // namespace flexor::data
