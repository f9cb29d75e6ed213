#include "schema/policy_config.h"

#include <algorithm>

#include "base/error.h"
#include "base/str_cat.h"
#include "config/finding.h"

namespace flexor::schema {

GemmaSize gemma_variant(std::string_view name) {
  if (name == "gemma_2b") {
    return GemmaSize{};
  }
  if (name == "gemma_300m") {
    return Architecture{}.action_expert;
  }
  throw Error(ErrorKind::kConfig, str_cat("unknown variant '", name, "', expected gemma_2b or gemma_300m"));
}

Architecture PolicyConfig::sizes() const {
  if (architecture) {
    return *architecture;
  }
  Architecture sizes;
  sizes.paligemma = gemma_variant(paligemma_variant);
  sizes.action_expert = gemma_variant(action_expert_variant);
  return sizes;
}

std::vector<PolicyFeature> PolicyConfig::cameras() const {
  std::vector<PolicyFeature> result;
  std::copy_if(input_features.begin(), input_features.end(), std::back_inserter(result),
               [](const PolicyFeature& feature) { return feature.type == FeatureType::kVisual; });
  for (int64_t i = 0; i < empty_cameras; ++i) {
    const std::string name = str_cat(kImagePrefix, "empty_camera_", i);
    if (find_input(name) == nullptr) {
      result.push_back({name, FeatureType::kVisual, {3, image_resolution[0], image_resolution[1]}});
    }
  }
  return result;
}

const PolicyFeature* PolicyConfig::find_input(std::string_view name) const {
  const auto found = std::find_if(input_features.begin(), input_features.end(),
                                  [name](const PolicyFeature& feature) { return feature.name == name; });
  return found == input_features.end() ? nullptr : &*found;
}

int64_t PolicyConfig::action_dim() const {
  for (const PolicyFeature& feature : output_features) {
    if (feature.name == kActionKey && !feature.shape.empty()) {
      return feature.shape[0];
    }
  }
  return max_action_dim;
}

int64_t PolicyConfig::state_dim() const {
  const PolicyFeature* state = find_input(kStateKey);
  return state == nullptr || state->shape.empty() ? max_state_dim : state->shape[0];
}

PolicyConfig default_policy_config(std::string_view type) {
  PolicyConfig config;
  config.type = type;
  const bool is_pi0 = type == "pi0";
  if (!is_pi0 && !config.is_pi05()) {
    throw Error(ErrorKind::kConfig, str_cat("unknown policy type '", type, "', expected pi0 or pi05"));
  }
  constexpr int64_t kPi0PromptLength = 48;
  config.tokenizer_max_length = is_pi0 ? kPi0PromptLength : config.tokenizer_max_length;
  const NormMode mode = is_pi0 ? NormMode::kMeanStd : NormMode::kQuantiles;
  config.normalization_mapping = {
      {FeatureType::kVisual, NormMode::kIdentity}, {FeatureType::kState, mode}, {FeatureType::kAction, mode}};
  return config;
}

namespace {

/// Collects findings whose keys all start with one prefix.
struct Checker {
  const std::string& prefix;
  std::vector<config::Finding> findings;

  void require(bool holds, const std::string& key, const std::string& what, const std::string& hint = {}) {
    if (!holds) {
      findings.push_back({prefix + key, str_cat("'", prefix, key, "': ", what), "", hint});
    }
  }
};

void check_gemma(const GemmaSize& size, const std::string& name, Checker& checker) {
  const std::string key = "architecture." + name;
  checker.require(size.width > 0 && size.depth > 0 && size.mlp_dim > 0 && size.num_heads > 0 && size.num_kv_heads > 0 &&
                      size.head_dim > 0,
                  key, "expected positive sizes");
  checker.require(size.num_kv_heads <= 0 || size.num_heads % size.num_kv_heads == 0, key + ".num_heads",
                  str_cat("expected a multiple of num_kv_heads ", size.num_kv_heads, ", found ", size.num_heads));
  checker.require(size.head_dim % 2 == 0, key + ".head_dim", str_cat("expected an even number, found ", size.head_dim));
}

/// The two stacks attend jointly, layer by layer.
void check_agreement(const GemmaSize& vlm, const GemmaSize& expert, const std::string& key, bool names_sizes,
                     Checker& checker) {
  const auto same = [&](const std::string& name, int64_t a, int64_t b) {
    checker.require(a == b, names_sizes ? key + "." + name : key,
                    str_cat("expected the language model's ", name, " ", a, ", found ", b));
  };
  same("depth", vlm.depth, expert.depth);
  same("num_heads", vlm.num_heads, expert.num_heads);
  same("num_kv_heads", vlm.num_kv_heads, expert.num_kv_heads);
  same("head_dim", vlm.head_dim, expert.head_dim);
}

void check_vision(const VisionSize& vision, const std::array<int64_t, 2>& resolution, Checker& checker) {
  checker.require(
      vision.width > 0 && vision.depth > 0 && vision.num_heads > 0 && vision.mlp_dim > 0 && vision.patch_size > 0,
      "architecture.vision", "expected positive sizes");
  checker.require(vision.num_heads <= 0 || vision.width % vision.num_heads == 0, "architecture.vision.width",
                  str_cat("expected a multiple of num_heads ", vision.num_heads, ", found ", vision.width));
  const auto [height, width] = resolution;
  checker.require(
      height > 0 && height == width && (vision.patch_size <= 0 || height % vision.patch_size == 0), "image_resolution",
      str_cat("expected a square whose side is a multiple of ", vision.patch_size, ", found ", height, " x ", width));
}

void check_sizes(const PolicyConfig& config, Checker& checker) {
  const Architecture sizes = config.sizes();
  check_gemma(sizes.paligemma, "paligemma", checker);
  check_gemma(sizes.action_expert, "action_expert", checker);
  check_agreement(sizes.paligemma, sizes.action_expert,
                  config.architecture ? "architecture.action_expert" : "action_expert_variant",
                  config.architecture.has_value(), checker);
  checker.require(sizes.action_expert.width >= 4 && sizes.action_expert.width % 2 == 0,
                  "architecture.action_expert.width",
                  str_cat("expected an even number from 4 on, found ", sizes.action_expert.width));
  check_vision(sizes.vision, config.image_resolution, checker);
  checker.require(sizes.vocab_size > 0, "architecture.vocab_size",
                  str_cat("expected a positive number, found ", sizes.vocab_size));
}

void check_features(const PolicyConfig& config, Checker& checker) {
  for (const PolicyFeature& feature : config.input_features) {
    if (feature.type == FeatureType::kVisual) {
      checker.require(feature.shape.size() == 3 && feature.shape[0] == 3, "input_features." + feature.name,
                      "expected the shape [3, height, width] of a colour picture");
    }
  }
  checker.require(config.chunk_size > 0, "chunk_size",
                  str_cat("expected a positive number, found ", config.chunk_size));
  checker.require(  // pi0.5 reads the state from the prompt, where it may be as long as it is
      config.is_pi05() || config.state_dim() <= config.max_state_dim, "max_state_dim",
      str_cat("expected at least the state's ", config.state_dim(), " values, found ", config.max_state_dim));
  checker.require(
      config.action_dim() <= config.max_action_dim, "max_action_dim",
      str_cat("expected at least the action's ", config.action_dim(), " values, found ", config.max_action_dim));
}

}  // namespace

std::vector<config::Finding> check(const PolicyConfig& config, const std::string& prefix) {
  Checker checker{prefix, {}};
  checker.require(config.n_obs_steps == 1, "n_obs_steps", str_cat("expected 1, found ", config.n_obs_steps));
  checker.require(config.n_action_steps <= config.chunk_size, "n_action_steps",
                  str_cat("expected at most chunk_size ", config.chunk_size, ", found ", config.n_action_steps));
  checker.require(config.min_period < config.max_period, "min_period",
                  str_cat("expected less than max_period ", config.max_period, ", found ", config.min_period));
  constexpr double kRounding = 1e-9;
  const double latest = config.time_sampling_scale + config.time_sampling_offset;
  checker.require(latest <= 1.0 + kRounding, "time_sampling_offset",
                  str_cat("expected times of at most 1, found scale + offset of ", latest));
  check_sizes(config, checker);
  check_features(config, checker);
  for (const char* key : {"use_visual_memory", "use_proprioceptive_memory"}) {
    const Json* value = config.extra.find(key);
    checker.require(value == nullptr || *value == Json(false) || value->is_null(), key,
                    "Flexor has no memory inputs of pi0.5");
  }
  const Json* delay = config.extra.find("rtc_training_max_delay");
  checker.require(delay == nullptr || delay->is_null() || *delay == Json(0), "rtc_training_max_delay",
                  "Flexor has no simulated delays in training");
  return std::move(checker.findings);
}

}  // namespace flexor::schema
