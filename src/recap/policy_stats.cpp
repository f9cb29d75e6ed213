#include "recap/policy_stats.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "data/normalize.h"
#include "data/processor.h"
#include "recap/numpy_random.h"
#include "schema/openpi_policy.h"
#include "train/data_setup.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

schema::NormMode mode_of(const schema::PolicyConfig& policy, schema::FeatureType type) {
  const auto found = policy.normalization_mapping.find(type);
  return found == policy.normalization_mapping.end() ? schema::NormMode::kIdentity : found->second;
}

/// The one norm_stats.json below a folder (openpi's asset ids contain slashes), "" if there is none.
std::string find_norm_stats(const std::string& model_path) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(model_path, ignored)) {
    if (entry.path().filename() == "norm_stats.json") {
      found.push_back(entry.path().string());
    }
  }
  std::ranges::sort(found);
  if (found.size() > 1) {
    throw Error(ErrorKind::kCheckpoint, str_cat("several statistics: ", join_text(found, ", ")), model_path,
                "name one: policy.actor.model.norm_stats=FILE");
  }
  return found.empty() ? std::string() : found.front();
}

/// Whether statistics can normalise a feature of this size.
bool fits(const schema::NormStats& stats, const std::string_view name, schema::NormMode mode, int64_t size) {
  const auto [low, high] = data::stat_names(mode);
  const auto found = stats.find(name);
  if (low.empty()) {
    return true;
  }
  return found != stats.end() && found->second.has(low) && found->second.has(high) &&
         static_cast<int64_t>(found->second.at(low).size()) == size;
}

/// The statistics of a policy that was fine-tuned before; a base policy has none that fit.
std::optional<schema::NormStats> own_stats(const std::string& model_path, const schema::PolicyConfig& policy) {
  if (model_path.empty() || !data::has_processor(model_path)) {
    return std::nullopt;
  }
  const data::ProcessorConfig own = data::read_processor(model_path, schema::read_policy_config(model_path));
  const bool has_state = policy.find_input(schema::kStateKey) != nullptr;
  const bool is_usable =
      own.relative.enabled == policy.use_relative_actions &&
      (!has_state ||
       fits(own.stats, schema::kStateKey, mode_of(policy, schema::FeatureType::kState), policy.state_dim())) &&
      fits(own.stats, schema::kActionKey, mode_of(policy, schema::FeatureType::kAction), policy.action_dim());
  return is_usable ? std::optional(own.stats) : std::nullopt;
}

void check_feature(const PolicyStats& stats, std::string_view name, schema::NormMode mode) {
  const auto [low_name, high_name] = data::stat_names(mode);
  const auto found = stats.stats.find(name);
  if (low_name.empty() || found == stats.stats.end()) {
    return;  // what is missing is said by the processor
  }
  const schema::FeatureStats& feature = found->second;
  const std::vector<double>&low = feature.at(low_name), &high = feature.at(high_name);
  for (size_t d = 0; d < std::min(low.size(), high.size()); ++d) {
    const bool is_deviation = mode == schema::NormMode::kMeanStd;
    if (is_deviation ? high[d] != 0.0 : high[d] != low[d]) {
      continue;
    }
    const bool has_bounds = feature.has("min") && feature.has("max") && d < feature.at("min").size();
    if (has_bounds && feature.at("min")[d] == feature.at("max")[d]) {
      log_warn("a dimension is constant in the data", {{"feature", name}, {"dim", d}, {"source", stats.source}});
      continue;
    }
    throw Error(ErrorKind::kData,
                str_cat(is_deviation ? "the standard deviation" : "the range between the quantiles", " of ", name,
                        " is 0 in dimension ", d),
                stats.source,
                "values would be divided by 0: other statistics, or leave the dimension out of the dataset");
  }
}

}  // namespace

PolicyStats policy_stats(const PolicyModelSection& section, train::TrainConfig& run, const schema::PolicyConfig& policy,
                         const data::Mixture& mixture) {
  if (run.policy.norm_stats.empty() && !section.model_path.empty()) {
    run.policy.norm_stats = find_norm_stats(section.model_path);
  }
  PolicyStats result;
  if (run.policy.norm_stats.empty()) {
    if (auto own = own_stats(section.model_path, policy)) {
      result = {.stats = std::move(*own), .source = section.model_path};
      log_info("statistics of the policy are kept", {{"source", result.source}});
      return result;
    }
  }
  result.stats = train::training_stats(run, policy, mixture).stats;
  result.source = run.policy.norm_stats.empty() ? "datasets" : run.policy.norm_stats;
  log_info("statistics", {{"source", result.source}});
  return result;
}

void check_ranges(const PolicyStats& stats, const schema::PolicyConfig& policy, data::PromptStyle prompt) {
  if (!policy.is_pi05() || prompt == data::PromptStyle::kState) {
    check_feature(stats, schema::kStateKey, mode_of(policy, schema::FeatureType::kState));
  }
  check_feature(stats, schema::kActionKey, mode_of(policy, schema::FeatureType::kAction));
}

std::string stats_hash(const schema::NormStats& stats) {
  Json json = Json::object();
  for (const std::string_view name : {schema::kStateKey, schema::kActionKey}) {
    const auto found = stats.find(name);
    if (found == stats.end()) {
      continue;
    }
    Json& feature = json[name];
    for (const auto& [stat, values] : found->second.values) {
      Json rounded = Json::array();
      for (const double value : values) {
        rounded.push_back(static_cast<double>(static_cast<float>(value)));
      }
      feature[stat] = rounded;
    }
  }
  return sha256_hex(json.dump());
}

}  // namespace flexor::recap
