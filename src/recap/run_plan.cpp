#include "recap/run_plan.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "recap/advantages_step.h"
#include "recap/mixture_config.h"
#include "recap/run_settings.h"
#include "recap/value_checkpoint.h"
#include "report/run_files.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

/// A JSON file without what steps of RECAP add to it. One that cannot be read is told by its bytes.
std::string pruned_hash(const std::string& path, const std::vector<std::string_view>& keys, FileHashes& hashes) {
  if (!fs::is_regular_file(path)) {
    return {};
  }
  try {
    Json json = Json::read_file(path);
    for (const std::string_view key : keys) {
      remove_key(json, key);
    }
    return hash_of_text(json.dump());
  } catch (const Error&) {
    return hashes.file(path);
  }
}

/// Statistics without those of step 1. A file that is not there is like one that holds no others.
std::string foreign_stats_hash(const std::string& root, FileHashes& hashes) {
  const std::string path = root + "/meta/stats.json";
  return fs::exists(path) ? pruned_hash(path, {"return", "reward"}, hashes) : hash_of_text(Json::object().dump());
}

/// Whether a JSON file holds what step 1 adds to it: "" if not. Which values is not asked: the file has no tags, and
/// step 1 of another tag replaces them. One that cannot be read is told by its bytes.
std::string entries_there(const std::string& path, std::string_view below, const std::vector<std::string_view>& entries,
                          FileHashes& hashes) {
  if (!fs::is_regular_file(path)) {
    return {};
  }
  try {
    const Json json = Json::read_file(path);
    const Json* place = below.empty() ? &json : json.find(below);
    const bool all = place != nullptr && place->is_object() && std::ranges::all_of(entries, [&](std::string_view name) {
                       const Json* entry = place->find(name);
                       return entry != nullptr && entry->is_object();
                     });
    return all ? "there" : "";
  } catch (const Error&) {
    return hashes.file(path);
  }
}

bool is_of_recap(std::string_view name) {
  return name.starts_with("returns") || name.starts_with("advantages") || name.starts_with("mixture_config");
}

/// What step 1 reads of a dataset: tables and tasks.
std::string index_hash(const std::string& root, FileHashes& hashes) {
  const auto takes = [](std::string_view name) { return name.starts_with("tasks.") || name.starts_with("episodes"); };
  return hash_of_text(str_cat(hashes.folder(root + "/data"), hashes.folder(root + "/meta", takes)));
}

/// All that training reads of a dataset: pictures and features too. Only the policy needs statistics.
std::string dataset_hash(const std::string& root, bool with_stats, FileHashes& hashes) {
  const auto takes = [with_stats](std::string_view name) {
    const bool is_stats = name == "episodes_stats.jsonl";
    return !is_of_recap(name) && name != "info.json" && name != "stats.json" && (with_stats || !is_stats);
  };
  const std::vector<std::string_view> features = {"features.return", "features.reward", "features.prompt"};
  return hash_of_text(str_cat(
      hashes.folder(root + "/data"), hashes.folder(root + "/videos"), hashes.folder(root + "/images"),
      hashes.folder(root + "/meta", takes), with_stats ? foreign_stats_hash(root, hashes) : "",
      pruned_hash(root + "/meta/info.json", features, hashes), pruned_hash(root + "/info.json", features, hashes)));
}

/// A checkpoint's model; its training_state only matters to a run that goes on.
std::string checkpoint_hash(const std::string& path, FileHashes& hashes) {
  if (fs::is_regular_file(path)) {
    return hashes.file(path);
  }
  return hashes.folder(path, [](std::string_view name) { return !name.starts_with("training_state/"); });
}

std::string sidecar_path(const std::string& root, std::string_view kind, const std::string& tag) {
  return str_cat(root, "/meta/", sidecar_name(kind, tag));
}

/// Adds datasets and, with a kind, their sidecars.
void add_datasets(Json& inputs, const DataSection& data, const std::vector<const std::vector<DatasetEntry>*>& lists,
                  std::string_view kind, const std::string& tag, FileHashes& hashes) {
  for (const auto* entries : lists) {
    for (const DatasetEntry& entry : *entries) {
      const std::string root = resolved_path(data, entry.dataset_path);
      inputs["dataset " + root] = dataset_hash(root, kind == "advantages", hashes);
      if (!kind.empty()) {
        const std::string sidecar = sidecar_path(root, kind, tag);
        inputs[str_cat(kind, " ", sidecar)] = hashes.file(sidecar);
      }
    }
  }
}

void add_path(Json& inputs, const std::string& name, const std::string& path, FileHashes& hashes) {
  if (!path.empty()) {
    inputs[str_cat(name, " ", path)] = checkpoint_hash(path, hashes);
  }
}

void add_value_model(Json& inputs, const ValueModelSection& model, FileHashes& hashes) {
  add_path(inputs, "model_path", model.model_path, hashes);
  add_path(inputs, "siglip_path", model.siglip_path, hashes);
  add_path(inputs, "gemma3_path", model.gemma3_path, hashes);
  add_path(inputs, "tokenizer_path", model.tokenizer_path, hashes);
}

Json inputs_of(const RecapConfig& config, Step step, FileHashes& hashes) {
  Json inputs = Json::object();
  if (step == Step::kReturns) {
    const DataSection& data = config.returns.data;
    for (const DatasetEntry& entry : returns_entries(data)) {
      const std::string root = resolved_path(data, entry.dataset_path);
      inputs["dataset " + root] = entry.output_path.empty() ? index_hash(root, hashes)
                                                            : dataset_hash(root, true, hashes);  // all of it is copied
    }
  } else if (step == Step::kValue) {
    const DataSection& data = config.value.data;
    add_datasets(inputs, data, {&data.train_data_paths, &data.eval_data_paths},
                 trains_ensemble(config) ? "" : "returns", data.tag, hashes);
    add_value_model(inputs, config.value.actor.model, hashes);
  } else if (step == Step::kAdvantages) {
    const AdvantageSection& section = config.advantages.advantage;
    const DataSection& data = config.advantages.data;
    add_datasets(inputs, data, {&data.train_data_paths}, labels_with_ensemble(config) ? "" : "returns",
                 section.returns_tag, hashes);
    add_value_model(inputs, section.model, hashes);
    inputs["value model"] = checkpoint_hash(value_checkpoint(config), hashes);
  } else {
    const PolicyModelSection& model = config.policy.actor.model;
    const DataSection& data = config.policy.data;
    add_datasets(inputs, data, {&data.train_data_paths, &data.val_data_paths}, "advantages", data.advantage_tag,
                 hashes);
    add_path(inputs, "model_path", model.model_path, hashes);
    add_path(inputs, "tokenizer_path", model.tokenizer_path, hashes);
    add_path(inputs, "norm_stats", model.norm_stats, hashes);
  }
  return inputs;
}

/// The threshold that step 3 notes in meta/mixture_config.yaml.
std::string noted_threshold(const std::string& root, const std::string& tag) {
  const Json noted = read_mixture_config(mixture_path(root));
  const Json* tags = noted.find("tags");
  const Json* own = tag.empty() ? noted.find("unified_threshold") : tags == nullptr ? nullptr : tags->find(tag);
  return own == nullptr ? std::string() : hash_of_text(own->dump());
}

Json checkpoint_outputs(const std::string& folder, FileHashes& hashes) {
  Json outputs = Json::object();
  for (const char* link : {"best", "last"}) {
    const std::string path = str_cat(folder, "/checkpoints/", link);
    outputs[path] = checkpoint_hash(path, hashes);
  }
  return outputs;
}

/// Whether a limit of a training's length is lower than it was. Values below `least` mean no limit.
bool lowers(const Json& before, const Json& now, std::string_view key, int64_t least) {
  const Json *was = before.find(key), *is = now.find(key);
  if (was == nullptr || is == nullptr || !was->is_int() || !is->is_int()) {
    return true;
  }
  return is->as_int() >= least && (was->as_int() < least || is->as_int() < was->as_int());
}

/// Without any limit a training takes one epoch, which a limit may make shorter.
bool has_limit(const Json& runner) {
  const Json *steps = runner.find("max_steps"), *epochs = runner.find("max_epochs");
  return (steps != nullptr && steps->is_int() && steps->as_int() >= 0) ||
         (epochs != nullptr && epochs->is_int() && epochs->as_int() > 0);
}

}  // namespace

std::string metrics_problem(const std::string& folder) {
  try {
    const report::RunFiles run = report::read_run(folder);
    return run.curves.empty() ? "is empty" : run.num_cut_lines > 0 ? "is incomplete" : "";
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kFile && !fs::exists(folder + "/metrics.jsonl") ? "is gone" : error.what();
  }
}

bool trains_ensemble(const RecapConfig& config) {
  return config.value.actor.model.model_type == "steam_value_model";
}

bool labels_with_ensemble(const RecapConfig& config) {
  return config.advantages.advantage.method == "steam";
}

std::vector<std::string> returns_roots(const RecapConfig& config) {
  const DataSection& data = config.returns.data;
  std::vector<std::string> roots;
  for (const DatasetEntry& entry : returns_entries(data)) {
    roots.push_back(resolved_path(data, entry.output_path.empty() ? entry.dataset_path : entry.output_path));
  }
  return roots;
}

StepPlan plan_step(const RecapConfig& config, Step step, FileHashes& hashes) {
  return {.settings = settings_of_step(config, step), .inputs = inputs_of(config, step, hashes)};
}

Json outputs_of_step(const RecapConfig& config, Step step, FileHashes& hashes) {
  if (step == Step::kValue || step == Step::kPolicy) {
    return checkpoint_outputs(str_cat(config.output_dir, "/", step_name(step)), hashes);
  }
  Json outputs = Json::object();
  if (step == Step::kReturns) {
    for (const DatasetEntry& entry : returns_entries(config.returns.data)) {
      const bool is_copy = !entry.output_path.empty();
      const std::string root = resolved_path(config.returns.data, is_copy ? entry.output_path : entry.dataset_path);
      const std::string sidecar = sidecar_path(root, "returns", config.returns.data.tag);
      outputs[sidecar] = hashes.file(sidecar);
      const std::string stats = root + "/meta/stats.json", info = root + "/meta/info.json";
      outputs[stats] = entries_there(stats, "", {"return", "reward"}, hashes);
      outputs[info] = entries_there(info, "features", {"return", "reward", "prompt"}, hashes);
      if (is_copy) {
        outputs[root] = dataset_hash(root, true, hashes);
      }
    }
    return outputs;
  }
  const DataSection& data = config.advantages.data;
  const std::string& tag = config.advantages.advantage.tag;
  for (const DatasetEntry& entry : data.train_data_paths) {
    const std::string root = resolved_path(data, entry.dataset_path), sidecar = sidecar_path(root, "advantages", tag);
    outputs[sidecar] = hashes.file(sidecar);
    outputs[mixture_path(root)] = noted_threshold(root, tag);
  }
  return outputs;
}

bool only_longer(const StepPlan& before, const StepPlan& now) {
  StepPlan a = before, b = now;
  const Json *was = a.settings.is_object() ? a.settings.find("runner") : nullptr, *is = b.settings.find("runner");
  if (was == nullptr || is == nullptr || !has_limit(*was) || lowers(*was, *is, "max_steps", 0) ||
      lowers(*was, *is, "max_epochs", 1)) {
    return false;
  }
  for (const char* key : {"runner.max_steps", "runner.max_epochs"}) {
    remove_key(a.settings, key);
    remove_key(b.settings, key);
  }
  return !why_changed(a, b).has_value();
}

std::optional<std::string> why_changed(const StepPlan& before, const StepPlan& now) {
  if (const auto difference = first_difference(before.settings, now.settings, "")) {
    return "settings changed: " + *difference;
  }
  for (const auto& [name, hash] : now.inputs.as_object()) {
    const Json* earlier = before.inputs.find(name);
    if (earlier == nullptr || !(*earlier == hash)) {
      return "input changed: " + name;
    }
  }
  return before.inputs.size() == now.inputs.size() ? std::nullopt : std::optional<std::string>("inputs changed");
}

}  // namespace flexor::recap
