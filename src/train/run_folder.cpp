#include "train/run_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "config/finding.h"
#include "config/print.h"
#include "schema/openpi_policy.h"
#include "train/lerobot_train_config.h"

namespace flexor::train {

namespace fs = std::filesystem;

namespace {

/// Digits only, and few enough for an int64_t.
bool is_number(const std::string& text) {
  constexpr size_t kMaxDigits = 18;
  return !text.empty() && text.size() <= kMaxDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The first file without which the folder is no checkpoint, "" if all are there.
std::string lacking_file(const std::string& folder) {
  std::error_code code;
  for (const char* name : {"training_state/training_step.json", "training_state/optimizer_state.safetensors",
                           "pretrained_model/config.json"}) {
    if (!fs::exists(fs::path(folder) / name, code)) {
      return name;
    }
  }
  const fs::path weights = fs::path(folder) / "pretrained_model" / "model.safetensors";
  const bool has_weights = fs::exists(weights, code) || fs::exists(weights.string() + ".index.json", code);
  return has_weights ? std::string() : "pretrained_model/model.safetensors";
}

/// Keys that a resumed run may change.
bool may_change(std::string_view key) {
  constexpr std::array<std::string_view, 9> kKeys = {"steps",    "log_freq", "save_freq", "eval_freq", "num_workers",
                                                     "prefetch", "threads",  "device",    "resume"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end() || key.starts_with("parallel.");
}

/// Keys that LeRobot's train_config.json does not decide, so that they may be given when such a run is resumed.
bool is_ours(std::string_view key) {
  constexpr std::array<std::string_view, 20> kKeys = {"batch_file",
                                                      "output_dir",
                                                      "dataset.root",
                                                      "dataset.resize",
                                                      "dataset.cache",
                                                      "dataset.eval_split",
                                                      "max_eval_samples",
                                                      "deterministic",
                                                      "rm_dropout",
                                                      "policy.tokenizer_path",
                                                      "policy.rope_frequencies",
                                                      "attention.impl",
                                                      "log.style",
                                                      "runtime.bind",
                                                      "dist.timeout_s",
                                                      "optimizer.master_dtype",
                                                      "policy.gradient_checkpointing",
                                                      "policy.device",
                                                      "policy.path",
                                                      "policy.allow_partial"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

void refuse_changes(const TrainConfig& before, const TrainConfig& now, bool from_lerobot, const std::string& where) {
  std::vector<config::Finding> findings;
  for (const config::Difference& difference : config::differences(config::flatten(before), config::flatten(now))) {
    if (!may_change(difference.key) && !(from_lerobot && is_ours(difference.key))) {
      findings.push_back(
          {difference.key,
           str_cat("'", difference.key, "' was ", difference.before.empty() ? "empty" : difference.before, ", now ",
                   difference.after.empty() ? "empty" : difference.after),
           where, "a resumed run keeps its configuration; start another output_dir"});
    }
  }
  if (!findings.empty()) {
    throw config::to_error(findings);
  }
}

/// The configuration that the run was started with, on whatever number of ranks: its rules hold for one if they held
/// for more.
TrainConfig stored_config(const std::string& run_dir, const std::optional<CheckpointRef>& checkpoint) {
  constexpr int64_t world = 1;
  const config::Sources sources{{run_dir + "/config.yaml"}, {}};
  TrainConfig config;
  if (checkpoint) {
    TrainConfig base;
    base.policy.config = schema::read_policy_config(checkpoint->pretrained());
    base.policy.config.input_features.clear();  // they belong to the fitted policy, config.yaml to the one as asked for
    base.policy.config.output_features.clear();
    config = load_train_config(sources, world, &base);
  } else {
    config = load_train_config(sources, world);
  }
  config.output_dir = run_dir;
  return config;
}

TrainConfig lerobot_config(const CheckpointRef& checkpoint, const std::string& run_dir, bool has_batch_file) {
  const std::string path = checkpoint.pretrained() + "/train_config.json";
  TrainConfig config;
  config.policy.config = schema::read_policy_config(checkpoint.pretrained());
  take_lerobot_train_config(config, Json::read_file(path), path);
  config.optimizer.master_dtype = config.policy.config.dtype == "bfloat16" ? "none" : config.optimizer.master_dtype;
  give_preset(config);
  config.output_dir = run_dir;
  if (has_batch_file) {
    config.dataset = {};
  }
  return config;
}

RunPlan plan_resumed_dir(const config::Sources& sources, const std::string& run_dir, int64_t world, int64_t at_most) {
  CheckpointSearch search = find_checkpoints(run_dir, at_most);
  RunPlan plan{.config = {}, .checkpoint = search.newest, .skipped = std::move(search.skipped), .is_resumed = true};
  TrainConfig before;
  if (fs::exists(run_dir + "/config.yaml")) {
    before = stored_config(run_dir, plan.checkpoint);
  } else if (plan.checkpoint) {
    TrainConfig given;
    config::load(given, sources);
    before = lerobot_config(*plan.checkpoint, run_dir, !given.batch_file.empty());
    plan.from_lerobot = true;
  } else {
    throw Error(ErrorKind::kFile, "no run to resume: neither config.yaml nor a complete checkpoint", run_dir,
                "give the folder that holds checkpoints/");
  }
  plan.config = load_train_config(sources, world, &before);
  refuse_changes(before, plan.config, plan.from_lerobot, run_dir);
  plan.schedule_steps = std::max(before.steps, plan.config.steps);
  return plan;
}

/// A file where the folder should be counts, and everything in it but what a run that was killed at its start left.
bool has_content(const std::string& folder) {
  std::error_code code;
  if (!fs::exists(folder, code)) {
    return false;
  }
  const fs::directory_iterator entries(folder, code);
  return code || std::any_of(begin(entries), end(entries), [](const fs::directory_entry& entry) {
           const std::string name = entry.path().filename().string();
           return !name.starts_with("config.yaml.tmp.") && !name.starts_with(".flexor-write-test-");
         });
}

RunPlan plan_in_place(const config::Sources& sources, TrainConfig config, int64_t world, int64_t at_most) {
  CheckpointSearch search = find_checkpoints(config.output_dir, at_most);
  RunPlan plan{.config = std::move(config), .checkpoint = search.newest, .skipped = std::move(search.skipped)};
  const std::string& folder = plan.config.output_dir;
  plan.schedule_steps = plan.config.steps;
  if (fs::exists(folder + "/config.yaml")) {
    TrainConfig before = stored_config(folder, plan.checkpoint);
    refuse_changes(before, plan.config, false, folder);
    plan.schedule_steps = std::max(before.steps, plan.config.steps);
    plan.is_resumed = true;
  } else if (plan.checkpoint) {
    return plan_resumed_dir(sources, folder, world, at_most);
  } else if (has_content(folder)) {
    throw Error(ErrorKind::kConfig,
                str_cat("'output_dir': expected a run or an empty folder, found ",
                        plan.skipped.empty() ? "neither config.yaml nor a checkpoint"
                                             : "no config.yaml and no complete checkpoint: " + plan.skipped.front()),
                folder, "give the folder of a run; another output_dir starts a new one");
  }
  return plan;
}

void check_new_folder(const std::string& folder) {
  if (has_content(folder)) {
    throw Error(ErrorKind::kConfig, "'output_dir': expected a new or empty folder, found one with content", folder,
                "resume=true continues the run in it; another output_dir starts a new one");
  }
}

}  // namespace

CheckpointSearch find_checkpoints(const std::string& run_dir, int64_t at_most) {
  std::map<int64_t, std::string> folders;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(run_dir + "/checkpoints", code)) {
    const std::string name = entry.path().filename().string();
    if (is_number(name) && std::stoll(name) <= at_most) {
      folders[std::stoll(name)] = entry.path().string();
    }
  }
  CheckpointSearch search;
  for (auto it = folders.rbegin(); it != folders.rend(); ++it) {
    const std::string lacking = lacking_file(it->second);
    if (lacking.empty()) {
      search.newest = CheckpointRef{it->second, it->first};
      break;
    }
    search.skipped.push_back(it->second + " lacks " + lacking);
  }
  return search;
}

std::string checkpoint_name(int64_t step, int64_t total_steps) {
  constexpr size_t kDigits = 6;
  const size_t width = std::max(kDigits, std::to_string(total_steps).size());
  const std::string digits = std::to_string(step);
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

RunPlan plan_run(const config::Sources& sources, int64_t world, int64_t at_most) {
  TrainConfig given;
  try {
    config::load(given, sources);
  } catch (const Error&) {
    load_train_config(sources, world);  // reports this and everything else
    throw;
  }
  if (const std::string dir = given.resume_dir(); !dir.empty()) {
    if (!fs::is_directory(dir)) {
      throw Error(ErrorKind::kFile, "no such folder", dir, "resume=true, auto, or the folder of a run");
    }
    return plan_resumed_dir(sources, fs::path(dir).lexically_normal().string(), world, at_most);
  }
  TrainConfig config = load_train_config(sources, world);
  if (config.is_resume()) {
    return plan_in_place(sources, std::move(config), world, at_most);
  }
  check_new_folder(config.output_dir);
  const int64_t steps = config.steps;
  return RunPlan{.config = std::move(config), .checkpoint = {}, .skipped = {}, .schedule_steps = steps};
}

void start_run_folder(const RunPlan& plan) {
  check_writable_folder(plan.config.output_dir);
  const std::string last = plan.config.output_dir + "/checkpoints/last";
  std::error_code code;
  if (fs::is_directory(fs::symlink_status(last, code))) {  // a link or a file is replaced
    throw Error(ErrorKind::kFile, "expected a link to the newest checkpoint, found a folder", last,
                "remove it; the checkpoints beside it are complete without it");
  }
  TrainConfig stored = plan.config;
  stored.resume = "false";
  write_file_atomic(plan.config.output_dir + "/config.yaml", config::print(stored));
}

}  // namespace flexor::train
