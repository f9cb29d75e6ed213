#include "train/data_setup.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "config/finding.h"
#include "data/dataset_check.h"
#include "data/dataset_stats.h"
#include "data/episode_split.h"
#include "data/normalize.h"
#include "data/relative_actions.h"
#include "tensor/tensor.h"

namespace flexor::train {

namespace {

std::vector<MixEntry> entries_of(const DatasetSection& section) {
  return section.mix.empty() ? std::vector<MixEntry>{{section.root, 1.0}} : section.mix;
}

/// [3, height, width] of a camera, whose shape in info.json is [height, width, 3] or [3, height, width].
schema::PolicyFeature visual_feature(const data::FeatureInfo& camera) {
  std::vector<int64_t> shape = camera.shape;
  if (shape.size() == 3 && shape[0] > 4) {
    shape = {shape[2], shape[0], shape[1]};
  }
  return {camera.name, schema::FeatureType::kVisual, shape};
}

void drop_feature(std::vector<schema::PolicyFeature>& features, std::string_view name) {
  std::erase_if(features, [name](const schema::PolicyFeature& feature) { return feature.name == name; });
}

std::vector<std::string> missing_stats(const schema::PolicyConfig& policy, const schema::PolicyFeature& feature,
                                       const schema::NormStats& stats) {
  const auto mode = policy.normalization_mapping.find(feature.type);
  std::vector<std::string> needed;
  if (mode != policy.normalization_mapping.end() && mode->second != schema::NormMode::kIdentity) {
    const auto [low, high] = data::stat_names(mode->second);
    needed = {std::string(low), std::string(high)};
  }
  const auto found = stats.find(feature.name);
  if (found != stats.end()) {
    std::erase_if(needed, [&](const std::string& name) { return found->second.has(name); });
  }
  return needed;
}

std::vector<schema::PolicyFeature> numeric_features(const schema::PolicyConfig& policy) {
  std::vector<schema::PolicyFeature> features = policy.input_features;
  features.insert(features.end(), policy.output_features.begin(), policy.output_features.end());
  std::erase_if(features, [](const schema::PolicyFeature& feature) {
    return feature.type != schema::FeatureType::kState && feature.type != schema::FeatureType::kAction;
  });
  return features;
}

}  // namespace

TrainingData open_training_data(const TrainConfig& config) {
  std::vector<data::Mixture::Part> all, train, held_out;
  for (const MixEntry& entry : entries_of(config.dataset)) {
    const data::Dataset dataset = data::Dataset::open(
        {.root = entry.root, .episodes = config.dataset.episodes, .rename_map = config.rename_map, .columns = {}});
    data::report_findings(data::check_dataset(dataset), entry.root);
    const data::EpisodeSplit split = data::split_episodes(dataset, config.dataset.eval_split);
    all.push_back({dataset, entry.weight});
    train.push_back({split.held_out.empty() ? dataset : dataset.select(split.train), entry.weight});
    if (!split.held_out.empty()) {
      held_out.push_back({dataset.select(split.held_out), entry.weight});
    }
    log_info("dataset opened", {{"root", entry.root},
                                {"version", dataset.info().version},
                                {"episodes", dataset.num_episodes()},
                                {"frames", dataset.num_frames()},
                                {"held_out", split.held_out.size()}});
  }
  TrainingData data;
  data.all = std::make_shared<const data::Mixture>(std::move(all));
  data.train = std::make_shared<const data::Mixture>(std::move(train));
  data.held_out = held_out.empty() ? nullptr : std::make_shared<const data::Mixture>(std::move(held_out));
  return data;
}

schema::PolicyConfig policy_for_data(const TrainConfig& config, const data::Mixture& data) {
  schema::PolicyConfig policy = config.policy.config;
  const data::Dataset& dataset = data.dataset(0);
  if (config.policy.path.empty()) {
    policy.input_features.clear();
    for (const data::FeatureInfo& camera : dataset.cameras()) {
      policy.input_features.push_back(visual_feature(camera));
    }
  }
  drop_feature(policy.input_features, schema::kStateKey);
  if (dataset.has_column(schema::kStateKey)) {
    policy.input_features.push_back(
        {std::string(schema::kStateKey), schema::FeatureType::kState, {dataset.width(schema::kStateKey)}});
  }
  const data::FeatureInfo& action = dataset.feature(schema::kActionKey);
  drop_feature(policy.output_features, schema::kActionKey);
  policy.output_features.push_back(
      {std::string(schema::kActionKey), schema::FeatureType::kAction, {dataset.width(schema::kActionKey)}});
  if (config.policy.fit_to_data && policy.use_relative_actions &&
      (!dataset.has_column(schema::kStateKey) || policy.state_dim() != policy.action_dim())) {
    log_warn("actions stay absolute: state and action have different sizes",
             {{"state", policy.state_dim()}, {"action", policy.action_dim()}});
    policy.use_relative_actions = false;
  }
  if (policy.use_relative_actions && !policy.action_feature_names && !action.names.empty()) {
    policy.action_feature_names = action.names;
  }
  if (config.policy.fit_to_data) {
    policy.max_action_dim = policy.action_dim();
    policy.max_state_dim = dataset.has_column(schema::kStateKey) ? policy.state_dim() : policy.max_state_dim;
  }
  if (const auto findings = schema::check(policy, "policy."); !findings.empty()) {
    throw config::to_error(findings);
  }
  return policy;
}

void check_cameras(const schema::PolicyConfig& policy, const data::Mixture& data) {
  std::vector<std::string> wanted;
  for (const schema::PolicyFeature& feature : policy.input_features) {
    if (feature.type == schema::FeatureType::kVisual) {
      wanted.push_back(feature.name);
    }
  }
  for (const data::Mixture::Part& part : data.parts()) {
    std::vector<std::string> present;
    for (const data::FeatureInfo& camera : part.dataset.cameras()) {
      present.push_back(camera.name);
    }
    if (std::ranges::find_first_of(present, wanted) == present.end()) {
      throw data::no_known_camera(present, wanted, part.dataset.root());
    }
  }
}

TrainingStats training_stats(const TrainConfig& config, const schema::PolicyConfig& policy, const data::Mixture& data) {
  TrainingStats result{.stats = data.stats()};
  std::vector<data::Dataset> datasets;
  for (const data::Mixture::Part& part : data.parts()) {
    datasets.push_back(part.dataset);
  }
  if (!config.policy.norm_stats.empty()) {
    for (auto& [name, stats] :
         data::read_openpi_norm_stats(config.policy.norm_stats, policy.state_dim(), policy.action_dim())) {
      result.stats[name] = std::move(stats);
    }
  }
  if (policy.use_relative_actions && config.policy.norm_stats.empty()) {  // stored ones are those of absolute actions
    const data::RelativeActions relative{true, policy.relative_exclude_joints, policy.action_feature_names};
    result.stats[std::string(schema::kActionKey)] = data::compute_relative_action_stats(
        datasets, policy.chunk_size, data::relative_mask(relative, policy.action_dim()));
    result.computed = true;
    log_info("statistics of relative actions computed", {{"frames", data.num_frames()}});
  }
  std::vector<std::string> columns;
  for (const schema::PolicyFeature& feature : numeric_features(policy)) {
    if (const std::vector<std::string> missing = missing_stats(policy, feature, result.stats); !missing.empty()) {
      if (!config.policy.norm_stats.empty()) {
        throw Error(ErrorKind::kData, str_cat(feature.name, " has no ", join_text(missing, ", ")),
                    config.policy.norm_stats, "other statistics, or another policy.normalization_mapping");
      }
      columns.push_back(feature.name);
    }
  }
  if (columns.empty()) {
    return result;
  }
  for (auto& [name, stats] : data::compute_stats(datasets, columns)) {
    schema::FeatureStats& stored = result.stats[name];
    if (stored.values.empty()) {
      stored = std::move(stats);
      continue;
    }
    stored.values.merge(stats.values);  // what is there stays
  }
  result.computed = true;
  log_info("statistics computed", {{"features", join_text(columns, ",")}, {"frames", data.num_frames()}});
  return result;
}

data::Tokenizer open_training_tokenizer(const TrainConfig& config, const std::string& checkpoint,
                                        const std::string& folder) {
  const std::string& given = config.policy.tokenizer_path;
  for (const std::string& place : {checkpoint, given, folder, config.policy.path}) {
    if (place.empty()) {
      continue;
    }
    if (const std::string file = data::find_tokenizer(place); !file.empty() || place == given) {
      return data::Tokenizer::open(file.empty() ? place : file);
    }
  }
  throw data::missing_tokenizer("training needs the policy's tokenizer",
                                config.policy.path.empty() ? "policy.tokenizer_path" : config.policy.path);
}

}  // namespace flexor::train
