#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "data/processor.h"
#include "data/processor_files.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"

// LeRobot's processor files: {"name", "steps": [{"registry_name", "config", "state_file"?}]}, the order of the steps
// being part of the format; statistics lie in safetensors under "<feature>.<stat>", split at the last dot.

namespace flexor::data {
namespace {

namespace fs = std::filesystem;
using schema::FeatureStats;
using schema::NormStats;

NormStats read_stats(const std::string& path) {
  check_input_file(path);
  const SafetensorsFile file = SafetensorsFile::open(path);
  NormStats stats;
  for (const auto& entry : file.entries()) {
    const size_t dot = entry.name.rfind('.');
    if (dot == std::string::npos) {
      throw Error(ErrorKind::kCheckpoint, str_cat("\"", entry.name, "\" is not FEATURE.STATISTIC"), path);
    }
    const Tensor values = file.get(entry.name).to(at::kDouble).flatten().contiguous();
    const std::string stat = entry.name.substr(dot + 1);
    FeatureStats& feature = stats[entry.name.substr(0, dot)];
    feature.values[stat].assign(values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel());
    if (stat != "count") {
      feature.shape = entry.shape;
    }
  }
  return stats;
}

/// Step by step reading of one file; remembers where each kind of step stood.
class StepReader {
 public:
  StepReader(std::string folder, const char* name) : folder_(std::move(folder)), path_(processor_path(folder_, name)) {
    check_input_file(path_);
    json_ = Json::read_file(path_);
    const Json::Array& steps = json_.at("steps").as_array();
    for (size_t i = 0; i < steps.size(); ++i) {
      const Json* kind = steps[i].find("registry_name");
      if (kind == nullptr) {
        throw Error(ErrorKind::kCheckpoint, str_cat("step ", i, " has no registry_name: a processor of its own code"),
                    path_, "Flexor runs the steps that LeRobot writes for pi0 and pi0.5");
      }
      kinds_.push_back(kind->as_string());
    }
  }

  const std::string& path() const { return path_; }
  const Json::Array& steps() const { return json_.at("steps").as_array(); }
  const std::vector<std::string>& kinds() const { return kinds_; }

  NormStats stats_of(const Json& step) const {
    const Json* file = step.find("state_file");
    return file == nullptr || file->is_null() ? NormStats{}
                                              : read_stats((fs::path(folder_) / file->as_string()).string());
  }

  [[noreturn]] void unknown(const std::string& kind) const {
    throw Error(ErrorKind::kCheckpoint, str_cat("unknown processor step \"", kind, "\""), path_,
                "Flexor runs the steps that LeRobot writes for pi0 and pi0.5");
  }

  /// `first` must come before `second` where both are there.
  void check_order(const char* first, const char* second) const {
    const auto a = std::find(kinds_.begin(), kinds_.end(), first), b = std::find(kinds_.begin(), kinds_.end(), second);
    if (a != kinds_.end() && b != kinds_.end() && b < a) {
      throw Error(ErrorKind::kCheckpoint, str_cat("step ", second, " stands before ", first), path_);
    }
  }

 private:
  std::string folder_, path_;
  Json json_;
  std::vector<std::string> kinds_;
};

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

void read_normalizer(const Json& json, ProcessorConfig& config) {
  config.eps = json.at("eps").as_double();
  config.features = read_features(json.at("features"));
  config.norm_map.clear();
  for (const auto& [type, mode] : json.at("norm_map").as_object()) {
    config.norm_map[schema::feature_type_from_name(type)] = schema::norm_mode_from_name(mode.as_string());
  }
  if (const Json* keys = json.find("normalize_observation_keys"); keys != nullptr && !keys->is_null()) {
    throw Error(ErrorKind::kCheckpoint, "normalize_observation_keys is set: Flexor normalises every feature");
  }
}

void read_relative(const Json& json, ProcessorConfig& config) {
  config.relative.enabled = json.at("enabled").as_bool();
  if (const Json* joints = json.find("exclude_joints"); joints != nullptr && !joints->is_null()) {
    config.relative.exclude_joints = joints->as_strings();
  }
  if (const Json* names = json.find("action_names"); names != nullptr && !names->is_null()) {
    config.relative.action_names = names->as_strings();
  }
}

void expect_value(const Json& json, const char* key, const Json& expected) {
  if (const Json* value = json.find(key); value != nullptr && *value != expected) {
    throw Error(ErrorKind::kCheckpoint, str_cat(key, " is ", value->dump(), ", expected ", expected.dump()));
  }
}

void read_tokenizer(const Json& json, ProcessorConfig& config) {
  config.max_length = json.at("max_length").as_int();
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
    for (const auto& [from, to] : json.at("rename_map").as_object()) {
      config.rename_map[from] = to.as_string();
    }
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
    config.device = json.at("device").as_string();
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
  try {
    for (size_t i = 0; i < pre.steps().size(); ++i) {
      read_preprocessor_step(pre, i, config);
    }
    check_postprocessor(post, config);
  } catch (const Error& error) {
    throw Error(error.kind() == ErrorKind::kFile ? ErrorKind::kFile : ErrorKind::kCheckpoint, error.what(),
                error.where().empty() ? pre.path() : error.where(), error.hint());
  }
  pre.check_order("relative_actions_processor", "normalizer_processor");
  pre.check_order("normalizer_processor", "pi05_prepare_state_tokenizer_processor_step");
  pre.check_order("pi05_prepare_state_tokenizer_processor_step", "tokenizer_processor");
  pre.check_order("pi0_new_line_processor", "tokenizer_processor");
  return config;
}

}  // namespace flexor::data
