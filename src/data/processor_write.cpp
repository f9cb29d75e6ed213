#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "data/processor.h"
#include "data/processor_files.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"

namespace flexor::data {
namespace {

namespace fs = std::filesystem;

Json features_json(const std::vector<schema::PolicyFeature>& features, bool action_only) {
  Json json = Json::object();
  for (const schema::PolicyFeature& feature : features) {
    if (!action_only || feature.type == schema::FeatureType::kAction) {
      json[feature.name] = Json::object({{"type", schema::feature_type_name(feature.type)}, {"shape", feature.shape}});
    }
  }
  return json;
}

Json norm_map_json(const ProcessorConfig& config) {
  Json json = Json::object();
  for (const auto& [type, mode] : config.norm_map) {
    json[schema::feature_type_name(type)] = schema::norm_mode_name(mode);
  }
  return json;
}

Json step(const char* name, Json config) {
  return Json::object({{"registry_name", name}, {"config", std::move(config)}});
}

Json normalizer_step(const ProcessorConfig& config, const char* kind, const char* pipeline, size_t index,
                     bool action_only) {
  Json json = step(kind, Json::object({{"eps", config.eps},
                                       {"features", features_json(config.features, action_only)},
                                       {"norm_map", norm_map_json(config)}}));
  if (!config.stats.empty()) {
    json["state_file"] = str_cat(pipeline, "_step_", index, "_", kind, ".safetensors");
  }
  return json;
}

Json device_step(const std::string& device) {
  return step("device_processor", Json::object({{"device", device}, {"float_dtype", nullptr}}));
}

Json preprocessor_json(const ProcessorConfig& config) {
  Json rename = Json::object();
  for (const auto& [from, to] : config.rename_map) {
    rename[from] = to;
  }
  const Json names = config.relative.action_names ? Json(*config.relative.action_names) : Json();
  const Json relative =
      step("relative_actions_processor", Json::object({{"enabled", config.relative.enabled},
                                                       {"exclude_joints", config.relative.exclude_joints},
                                                       {"action_names", names}}));
  const Json tokens = step("tokenizer_processor", Json::object({{"max_length", config.max_length},
                                                                {"task_key", "task"},
                                                                {"padding_side", "right"},
                                                                {"padding", "max_length"},
                                                                {"truncation", true},
                                                                {"tokenizer_name", config.tokenizer_name}}));
  Json steps = Json::array();
  const auto push_normalizer = [&] {
    steps.push_back(
        normalizer_step(config, "normalizer_processor", kPreprocessor, steps.size(), /*action_only=*/false));
  };
  steps.push_back(step("rename_observations_processor", Json::object({{"rename_map", rename}})));
  steps.push_back(step("to_batch_processor", Json::object()));
  const auto push_newline = [&] {
    if (config.prompt == PromptStyle::kNewline || config.prompt == PromptStyle::kOpenpi) {
      steps.push_back(step("pi0_new_line_processor", Json::object()));
    }
  };
  if (config.policy_type == "pi05") {
    steps.push_back(relative);
    push_normalizer();
    if (config.prompt == PromptStyle::kState) {
      steps.push_back(step("pi05_prepare_state_tokenizer_processor_step", Json::object()));
    }
    push_newline();  // openpi's pi0.5 without the state in the prompt
    steps.push_back(tokens);
    steps.push_back(device_step(config.device));
  } else {
    push_newline();
    steps.push_back(tokens);
    steps.push_back(device_step(config.device));
    steps.push_back(relative);
    push_normalizer();
  }
  return Json::object({{"name", kPreprocessor}, {"steps", steps}});
}

Json postprocessor_json(const ProcessorConfig& config) {
  Json steps = Json::array();
  steps.push_back(normalizer_step(config, "unnormalizer_processor", kPostprocessor, 0, /*action_only=*/true));
  steps.push_back(step("absolute_actions_processor", Json::object({{"enabled", config.relative.enabled}})));
  steps.push_back(device_step("cpu"));
  return Json::object({{"name", kPostprocessor}, {"steps", steps}});
}

std::vector<NamedTensor> stats_tensors(const schema::NormStats& stats) {
  std::vector<NamedTensor> tensors;
  for (const auto& [feature, feature_stats] : stats) {
    for (const auto& [stat, values] : feature_stats.values) {
      const auto numel =
          std::accumulate(feature_stats.shape.begin(), feature_stats.shape.end(), int64_t{1}, std::multiplies<>());
      const bool shaped = stat != "count" && numel == static_cast<int64_t>(values.size());
      const Tensor flat = at::tensor(values, at::kDouble).to(at::kFloat);
      tensors.emplace_back(str_cat(feature, ".", stat), shaped ? flat.view(feature_stats.shape) : flat);
    }
  }
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return tensors;
}

void write_pipeline(const Json& json, const char* name, const schema::NormStats& stats, const std::string& folder) {
  for (const Json& item : json.at("steps").as_array()) {
    if (const Json* file = item.find("state_file")) {
      write_safetensors((fs::path(folder) / file->as_string()).string(), stats_tensors(stats), {});
    }
  }
  write_file_atomic(processor_path(folder, name), json.dump(2));
}

}  // namespace

void write_processor(const ProcessorConfig& config, const std::string& folder) {
  write_pipeline(preprocessor_json(config), kPreprocessor, config.stats, folder);
  write_pipeline(postprocessor_json(config), kPostprocessor, config.stats, folder);
}

}  // namespace flexor::data
