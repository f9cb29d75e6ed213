#include "recap/run_settings.h"

#include <vector>

#include "base/str_cat.h"
#include "config/field_table.h"

namespace flexor::recap {
namespace {

using Keys = std::vector<std::string_view>;

// What changes neither weights nor labels.
const Keys kSpeedOnly = {
    "data.num_workers",         "data.train_num_workers",   "data.eval_num_workers",
    "data.prefetch_factor",     "runner.log_interval",      "runner.resume_dir",
    "actor.fsdp_config",        "advantage.flush_interval", "advantage.num_dataloader_workers_per_gpu",
    "advantage.prefetch_factor"};

// Keys of the shared `data` that a step does not read.
const Keys& unread_keys(Step step) {
  static const Keys kReturns = {"data.eval_data_paths",
                                "data.val_data_paths",
                                "data.advantage_tag",
                                "data.return_min",
                                "data.return_max",
                                "data.advantage_lookahead_step",
                                "data.action_horizon",
                                "data.action_dim",
                                "data.normalize_to_minus_one_zero",
                                "data.do_augment",
                                "data.robot_type",
                                "data.model_type",
                                "data.default_prompt",
                                "data.balance_weights",
                                "data.balance_dataset_weights",
                                "data.seed",
                                "data.train_data_paths[].name",
                                "data.train_data_paths[].weight",
                                "data.train_data_paths[].robot_type",
                                "data.train_data_paths[].model_type",
                                "data.train_data_paths[].default_prompt",
                                "data.train_data_paths[].return_min",
                                "data.train_data_paths[].return_max",
                                "data.train_data_paths[].episodes",
                                "data.train_data_paths[].max_samples",
                                "data.train_data_paths[].episode_percentage",
                                "data.train_data_paths[].shuffle_episodes",
                                "data.train_data_paths[].episode_seed"};
  static const Keys kValue = {"data.val_data_paths", "data.advantage_tag",           "data.gamma",
                              "data.failure_reward", "data.action_horizon",          "data.advantage_lookahead_step",
                              "data.action_dim",     "data.balance_dataset_weights", "data.dataset_path",
                              "data.output_path"};
  static const Keys kAdvantages = {"data.eval_data_paths",
                                   "data.val_data_paths",
                                   "data.advantage_tag",
                                   "data.tag",
                                   "data.failure_reward",
                                   "data.action_horizon",
                                   "data.action_dim",
                                   "data.normalize_to_minus_one_zero",
                                   "data.do_augment",
                                   "data.balance_weights",
                                   "data.balance_dataset_weights",
                                   "data.seed",
                                   "data.dataset_path",
                                   "data.output_path"};
  static const Keys kPolicy = {"data.eval_data_paths", "data.tag",
                               "data.gamma",           "data.failure_reward",
                               "data.return_min",      "data.return_max",
                               "data.dataset_path",    "data.advantage_lookahead_step",
                               "data.output_path",     "data.normalize_to_minus_one_zero",
                               "data.balance_weights"};
  const Keys* const keys[] = {&kReturns, &kValue, &kAdvantages, &kPolicy};
  return *keys[static_cast<size_t>(step)];
}

template <typename Section>
Json settings_of(Section section, Step step) {
  config::FieldTable table;
  fields(table, section);
  Json settings = table.write();
  for (const Keys* keys : {&kSpeedOnly, &unread_keys(step)}) {
    for (const std::string_view key : *keys) {
      remove_key(settings, key);
    }
  }
  return settings;
}

}  // namespace

void remove_key(Json& json, std::string_view key) {
  const size_t dot = key.find('.');
  std::string_view name = key.substr(0, dot);
  const bool is_list = name.ends_with("[]");
  name = is_list ? name.substr(0, name.size() - 2) : name;
  if (dot == std::string_view::npos) {
    json.erase(name);
    return;
  }
  Json* below = json.find(name);
  if (below == nullptr) {
    return;
  }
  if (!is_list) {
    remove_key(*below, key.substr(dot + 1));
    return;
  }
  for (Json& element : below->as_array()) {
    remove_key(element, key.substr(dot + 1));
  }
}

Json settings_of_step(const RecapConfig& config, Step step) {
  switch (step) {
    case Step::kReturns:
      return settings_of(config.returns, step);
    case Step::kValue:
      return settings_of(config.value, step);
    case Step::kAdvantages:
      return settings_of(config.advantages, step);
    case Step::kPolicy:
      break;
  }
  return settings_of(config.policy, step);
}

std::optional<std::string> first_difference(const Json& before, const Json& now, const std::string& key) {
  if (before == now) {
    return std::nullopt;
  }
  const auto below = [&key](std::string_view name) {
    return key.empty() ? std::string(name) : str_cat(key, ".", name);
  };
  if (before.is_object() && now.is_object()) {
    for (const auto& [name, value] : now.as_object()) {
      const Json* earlier = before.find(name);
      if (const auto found = first_difference(earlier == nullptr ? Json() : *earlier, value, below(name))) {
        return found;
      }
    }
  } else if (before.is_array() && now.is_array() && before.size() == now.size()) {
    for (size_t i = 0; i < now.size(); ++i) {
      if (const auto found = first_difference(before.as_array()[i], now.as_array()[i], str_cat(key, "[", i, "]"))) {
        return found;
      }
    }
  }
  return str_cat(key, " was ", before.dump(), ", is ", now.dump());
}

}  // namespace flexor::recap
