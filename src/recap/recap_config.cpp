#include "recap/recap_config.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "config/overlay.h"
#include "config/recipe_path.h"
#include "config/yaml_read.h"

namespace flexor::recap {
namespace {

using config::Finding;
using config::Origins;
using config::Value;

constexpr std::string_view kSections[] = {"returns", "value", "advantages", "policy"};
constexpr std::string_view kStepKeys[] = {"runner", "actor", "advantage"};  // at the top of a single step's tree

bool is_one_of(std::string_view key, std::span<const std::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool has_one_of(const Value& root, std::span<const std::string_view> keys) {
  return std::any_of(root.members.begin(), root.members.end(),
                     [keys](const Value::Member& member) { return is_one_of(member.key, keys); });
}

/// A file as a whole configuration: what is the tree of one step goes below that step's key.
Value as_whole(Value document, std::optional<Step> only, const std::string& file) {
  if (has_one_of(document, kSections) || !has_one_of(document, kStepKeys)) {
    return document;
  }
  if (!only) {
    throw Error(ErrorKind::kConfig,
                "expected the sections returns, value, advantages, policy, found the tree of one step", file,
                "put it below the key of its step, or run the step alone: flexor recap STEP --config FILE");
  }
  Value whole = Value::map(document.place), step = Value::map(document.place);
  for (Value::Member& member : document.members) {
    const bool is_step_key = is_one_of(member.key, kStepKeys) || member.key == "data";
    (is_step_key ? step : whole).members.push_back(std::move(member));
  }
  whole.members.push_back({std::string(step_name(*only)), std::move(step)});
  return whole;
}

/// Overrides of a single step name keys of its tree. A key of `data` is the shared one unless the step has its own.
std::string full_override(const Value& root, const std::string& argument, std::optional<Step> only) {
  const std::string key = argument.substr(0, argument.find('='));
  const std::vector<std::string> parts = split_text(key, '.');
  if (!only || parts.empty()) {
    return argument;
  }
  const std::string section(step_name(*only));
  const bool is_own_data = parts[0] == "data" && parts.size() > 1 &&
                           config::find_path(root, str_cat(section, ".data.", parts[1])) != nullptr;
  return is_own_data || is_one_of(parts[0], kStepKeys) ? str_cat(section, ".", argument) : argument;
}

Value read_tree(config::FieldTable& table, const config::Sources& sources, std::optional<Step> only,
                std::vector<Finding>& findings) {
  Value root = Value::map(sources.files.empty() ? "command line" : sources.files.back());
  for (const std::string& file : sources.files) {
    Value document = config::parse_yaml(read_file(file), file, findings);
    if (!document.is_map() && !document.is_null()) {
      throw Error(ErrorKind::kConfig, "expected keys and values, found " + config::shown(document), file,
                  "configs/recap_tiny.yaml shows what a configuration looks like");
    }
    config::overlay(root, as_whole(std::move(document), only, file), table);
  }
  for (const std::string& argument : sources.overrides) {
    config::apply_override(root, full_override(root, argument, only), table, findings);
  }
  return root;
}

/// A place that a tag stands in, and which of the two tags it is.
struct TagSlot {
  std::string key;
  std::string* tag;
  bool is_of_returns;
};

std::vector<TagSlot> tag_slots(RecapConfig& c) {
  return {{"data.tag", &c.data.tag, true},  // what the steps below take from here is one problem, not one for each
          {"returns.data.tag", &c.returns.data.tag, true},
          {"value.data.tag", &c.value.data.tag, true},
          {"advantages.advantage.returns_tag", &c.advantages.advantage.returns_tag, true},
          {"advantages.advantage.tag", &c.advantages.advantage.tag, false},
          {"policy.data.advantage_tag", &c.policy.data.advantage_tag, false}};
}

/// Every step writes and reads the same tags: `tag`, or what one of the steps says. Contradictions go to `findings`.
void wire_tags(RecapConfig& c, const Origins& origins, std::vector<Finding>& findings) {
  for (const bool is_of_returns : {true, false}) {
    std::string common = c.tag, common_key = "tag";
    std::set<std::string> refused;
    for (const TagSlot& slot : tag_slots(c)) {
      if (slot.is_of_returns != is_of_returns || slot.tag->empty()) {
        continue;
      }
      if (!common.empty() && *slot.tag != common && refused.insert(*slot.tag).second) {
        findings.push_back({slot.key,
                            str_cat("'", slot.key, "' is '", *slot.tag, "' but '", common_key, "' is '", common, "'"),
                            origins.place(slot.key), "the steps of one run share a tag: give it once, as tag"});
      } else if (common.empty()) {
        common = *slot.tag, common_key = slot.key;
      }
    }
    for (const TagSlot& slot : tag_slots(c)) {
      if (slot.is_of_returns == is_of_returns && slot.tag->empty()) {
        *slot.tag = common;
      }
    }
  }
}

Value part_of(const Value& root, bool sections) {
  Value part = Value::map(root.place);
  for (const Value::Member& member : root.members) {
    if (is_one_of(member.key, kSections) == sections) {
      part.members.push_back(member);
    }
  }
  return part;
}

/// What is read may stand beside the configuration file.
void resolve_paths(DataSection& data, const config::Sources& sources) {
  config::resolve_beside_recipe(data.data_root, sources);
  if (!data.data_root.empty()) {
    return;  // the paths below are relative to it
  }
  config::resolve_beside_recipe(data.dataset_path, sources);
  for (auto* entries : {&data.train_data_paths, &data.eval_data_paths, &data.val_data_paths}) {
    for (DatasetEntry& entry : *entries) {
      config::resolve_beside_recipe(entry.dataset_path, sources);
    }
  }
}

void resolve_paths(RecapConfig& c, const config::Sources& sources) {
  for (DataSection* data : {&c.data, &c.returns.data, &c.value.data, &c.advantages.data, &c.policy.data}) {
    resolve_paths(*data, sources);
  }
  for (ValueModelSection* model : {&c.value.actor.model, &c.advantages.advantage.model}) {
    for (std::string* path : {&model->model_path, &model->siglip_path, &model->gemma3_path, &model->tokenizer_path}) {
      config::resolve_beside_recipe(*path, sources);
    }
  }
  PolicyModelSection& policy = c.policy.actor.model;
  for (std::string* path :
       {&c.advantages.advantage.value_checkpoint, &policy.model_path, &policy.tokenizer_path, &policy.norm_stats}) {
    config::resolve_beside_recipe(*path, sources);
  }
}

}  // namespace

std::string_view step_name(Step step) {
  return kSections[static_cast<size_t>(step)];
}

RecapConfig load_recap_config(const config::Sources& sources, std::optional<Step> only) {
  RecapConfig config;
  config::FieldTable table;
  fields(table, config);
  std::vector<Finding> findings;
  const Value root = read_tree(table, sources, only, findings);
  Origins origins;
  config::bind_tree(table, part_of(root, /*sections=*/false), origins, findings);
  config.returns.data = config.value.data = config.advantages.data = config.policy.data = config.data;
  config::bind_tree(table, part_of(root, /*sections=*/true), origins, findings);
  wire_tags(config, origins, findings);
  for (const Step step : {Step::kReturns, Step::kValue, Step::kAdvantages, Step::kPolicy}) {
    if (!only || *only == step) {
      config::append_check([&](const Origins&) { return check(config, step); }, origins, findings);
    }
  }
  if (!findings.empty()) {
    throw config::to_error(findings);
  }
  resolve_paths(config, sources);
  return config;
}

std::string DatasetEntry::shown_name() const {
  if (!name.empty()) {
    return name;
  }
  const std::filesystem::path path = std::filesystem::path(dataset_path).lexically_normal();
  return path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
}

std::vector<DatasetEntry> returns_entries(const DataSection& data) {
  return data.train_data_paths.empty()
             ? std::vector<DatasetEntry>{{.dataset_path = data.dataset_path, .output_path = data.output_path}}
             : data.train_data_paths;
}

std::string resolved_path(const DataSection& data, const std::string& path) {
  if (path.empty() || data.data_root.empty()) {
    return path;
  }
  return (std::filesystem::path(data.data_root) / path).string();
}

std::string sidecar_name(std::string_view kind, std::string_view tag) {
  return tag.empty() ? str_cat(kind, ".parquet") : str_cat(kind, "_", tag, ".parquet");
}

}  // namespace flexor::recap
