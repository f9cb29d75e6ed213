#include "recap/policy_data.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "data/dataset_check.h"
#include "data/dataset_info.h"
#include "recap/camera_slots.h"
#include "recap/labelled_dataset.h"
#include "recap/numpy_random.h"
#include "recap/ranks.h"
#include "recap/sidecar.h"
#include "recap/value_data.h"

namespace flexor::recap {
namespace {

constexpr int64_t kValSamples = 10000;  // of a dataset to validate on, unless it says otherwise

using Renames = std::map<std::string, std::string>;

bool has_feature(const std::vector<data::FeatureInfo>& features, std::string_view name) {
  return std::ranges::any_of(features, [&](const data::FeatureInfo& f) { return f.recorded_name == name; });
}

std::string renamed(const Renames& renames, const std::string& name) {
  const auto found = renames.find(name);
  return found == renames.end() ? name : found->second;
}

Renames renames_of(const std::string& root, const DatasetEntry& entry, const DataSection& section,
                   const schema::PolicyConfig& policy) {
  std::vector<data::Finding> ignored;  // Dataset::open says them
  const data::DatasetInfo info = data::read_dataset_info(root, ignored);
  const std::string robot = entry.robot_type.empty() ? section.robot_type : entry.robot_type;
  return policy_renames(info.features, policy, robot, section.rename_map, root);
}

void say(const PolicyDataset& dataset, const char* what) {
  const int64_t positive = std::count(dataset.labels.begin(), dataset.labels.end(), 1);
  log_info(what, {{"name", dataset.name},
                  {"episodes", dataset.dataset.num_episodes()},
                  {"samples", dataset.num_samples},
                  {"positive", short_number(static_cast<double>(positive) /
                                            static_cast<double>(std::max<size_t>(1, dataset.labels.size())))}});
}

PolicyDataset open_entry(const DatasetEntry& entry, const DataSection& section, const Renames& renames,
                         int64_t most_samples, bool with_labels) {
  const std::string root = resolved_path(section, entry.dataset_path);
  const auto sidecar = with_labels ? std::optional(read_advantage_labels(root, section.advantage_tag)) : std::nullopt;
  data::Dataset dataset =
      data::Dataset::open({.root = root, .episodes = entry.episodes, .rename_map = renames, .columns = {}});
  if (entry.episode_percentage < 100) {
    dataset = dataset.select(chosen_episodes(entry, episode_indices(dataset)));
  }
  std::vector<uint8_t> labels =
      sidecar ? labels_of(dataset, *sidecar) : std::vector<uint8_t>(static_cast<size_t>(dataset.num_frames()), 0);
  data::report_findings(data::check_dataset(dataset), root);
  const int64_t samples = std::min(dataset.num_frames(), entry.max_samples.value_or(most_samples));
  return {.name = entry.shown_name(),
          .root = root,
          .default_prompt = entry.default_prompt.empty() ? section.default_prompt : entry.default_prompt,
          .dataset = std::move(dataset),
          .num_samples = samples,
          .weight = entry.weight,
          .labels = std::move(labels)};
}

/// Frames that are trained on say nothing about other ones.
void warn_of_trained(const PolicyDataset& val, const std::vector<PolicyDataset>& train) {
  for (const PolicyDataset& dataset : train) {
    const std::vector<int64_t> trained = episode_indices(dataset.dataset), judged = episode_indices(val.dataset);
    std::vector<int64_t> both;
    std::ranges::set_intersection(trained, judged, std::back_inserter(both));
    if (dataset.root == val.root && !both.empty()) {
      log_warn("episodes are validated on that are trained on too", {{"dataset", val.name}, {"episodes", both.size()}});
    }
  }
}

}  // namespace

Renames policy_renames(const std::vector<data::FeatureInfo>& features, const schema::PolicyConfig& policy,
                       const std::string& robot_type, const Renames& given, const std::string& where) {
  Renames renames = given;
  const auto rename = [&](const char* from, std::string_view to) {
    if (has_feature(features, from) && !has_feature(features, to) && !renames.contains(from)) {
      renames[from] = to;
    }
  };
  rename("actions", schema::kActionKey);
  rename("state", schema::kStateKey);
  std::vector<data::FeatureInfo> cameras;
  std::ranges::copy_if(features, std::back_inserter(cameras),
                       [](const auto& f) { return f.is_camera() && !f.is_depth; });
  const std::vector<schema::PolicyFeature> wanted = policy.cameras();
  const bool is_known = std::ranges::any_of(cameras, [&](const data::FeatureInfo& c) {
    return policy.find_input(renamed(renames, c.recorded_name)) != nullptr;
  });
  if (wanted.empty() || is_known) {
    return renames;
  }
  for (const auto& [slot, camera] : camera_slots(robot_type, cameras, where)) {
    const auto place = std::ranges::find_if(
        wanted, [&, &name = slot](const schema::PolicyFeature& f) { return f.name.ends_with("." + name); });
    if (place != wanted.end()) {
      renames[camera] = place->name;
    }
  }
  return renames;
}

PolicyData::Sample PolicyData::at(int64_t position) const {
  const data::Mixture::Place place = mixture->locate(position);
  const PolicyDataset& dataset = train[static_cast<size_t>(place.part)];
  return {dataset.labels[static_cast<size_t>(place.position)] != 0, &dataset};
}

std::string PolicyData::labels_hash() const {
  std::string all;
  for (const PolicyDataset& dataset : train) {
    all.append(dataset.labels.begin(), dataset.labels.end());
    all += '|';
  }
  return sha256_hex(all);
}

PolicyData open_policy_data(const PolicyStep& step, const schema::PolicyConfig& policy, bool with_labels) {
  const DataSection& section = step.data;
  PolicyData data;
  std::vector<data::Mixture::Part> parts;
  for (const DatasetEntry& entry : section.train_data_paths) {
    const Renames renames = renames_of(resolved_path(section, entry.dataset_path), entry, section, policy);
    data.rename_map = data.train.empty() ? renames : data.rename_map;
    data.train.push_back(open_entry(entry, section, renames, std::numeric_limits<int64_t>::max(), with_labels));
    parts.push_back({data.train.back().dataset, 1.0});  // shares are those of RecapOrder
    if (with_labels) {
      say(data.train.back(), "training data");
    }
  }
  for (const DatasetEntry& entry : section.val_data_paths) {
    const Renames renames = renames_of(resolved_path(section, entry.dataset_path), entry, section, policy);
    data.val.push_back(open_entry(entry, section, renames, kValSamples, with_labels));
    if (with_labels) {
      say(data.val.back(), "validation data");
      warn_of_trained(data.val.back(), data.train);
    }
  }
  data.mixture = std::make_shared<const data::Mixture>(std::move(parts));
  return data;
}

std::shared_ptr<const RecapOrder> policy_order(const PolicyStep& step, const PolicyData& data,
                                               const dist::Group& group) {
  RecapOrderConfig config{.balance = step.data.balance_dataset_weights,
                          .mix_single = true,
                          .seed = step.data.seed,
                          .micro_batch_size = step.actor.micro_batch_size,
                          .accumulation = micro_batches(step.actor, group.world()),
                          .rank = group.rank(),
                          .world = group.world()};
  for (size_t i = 0; i < data.train.size(); ++i) {
    config.add_dataset(data.train[i].num_samples, data.mixture->first_position(static_cast<int64_t>(i)),
                       data.train[i].weight);
  }
  return std::make_shared<const RecapOrder>(std::move(config));
}

}  // namespace flexor::recap
