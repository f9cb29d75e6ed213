#include "recap/run_check.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "data/tokenizer.h"
#include "models/value_weights.h"
#include "recap/label_cover.h"
#include "recap/labelled_dataset.h"
#include "recap/policy_setup.h"
#include "recap/problems.h"
#include "recap/run_plan.h"
#include "recap/sidecar.h"
#include "recap/value_setup.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

/// An entry of a list of datasets, with the key that names it.
struct Named {
  const DatasetEntry* entry;
  std::string key;
};

std::vector<Named> named(const std::vector<DatasetEntry>& entries, const std::string& key) {
  std::vector<Named> result;
  for (size_t i = 0; i < entries.size(); ++i) {
    result.push_back({&entries[i], str_cat(key, "[", i, "]")});
  }
  return result;
}

std::vector<Named> operator+(std::vector<Named> a, const std::vector<Named>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string place_of(const std::string& path) {
  return fs::weakly_canonical(path).string();
}

void require_path(const std::string& path, const std::string& key) {
  if (!path.empty() && !fs::exists(path)) {
    throw Error(ErrorKind::kFile, "no such file or folder", path, str_cat(key, " names it"));
  }
}

/// The checks of one run.
class Check {
 public:
  Check(const RecapConfig& config, const RunOptions& options) : config_(config), options_(options) {}

  void run() {
    problems_.attempt([this] { check_methods(); });
    const DataSection &value = config_.value.data, &advantages = config_.advantages.data, &policy = config_.policy.data;
    const auto value_entries = named(value.train_data_paths, "value.data.train_data_paths") +
                               named(value.eval_data_paths, "value.data.eval_data_paths");
    const auto advantage_entries = named(advantages.train_data_paths, "advantages.data.train_data_paths");
    const auto policy_entries = named(policy.train_data_paths, "policy.data.train_data_paths") +
                                named(policy.val_data_paths, "policy.data.val_data_paths");
    if (is_asked(Step::kReturns)) {
      check_returns_places();
    }
    if (is_asked(Step::kValue)) {
      check_datasets(value, value_entries);
      check_value_model();
      if (!trains_ensemble(config_)) {
        check_returns(value, value_entries, value.tag);
      }
    }
    if (is_asked(Step::kAdvantages)) {
      check_datasets(advantages, advantage_entries);
      check_writable(advantages, advantage_entries);
      const std::string& given = config_.advantages.advantage.value_checkpoint;
      problems_.attempt([&given] { require_path(given, "advantages.advantage.value_checkpoint"); });
      if (!labels_with_ensemble(config_)) {
        check_returns(advantages, advantage_entries, config_.advantages.advantage.returns_tag);
      }
    }
    if (is_asked(Step::kPolicy)) {
      check_labels(policy_entries);
      check_policy(policy_entries);
    }
    problems_.raise();
  }

 private:
  bool is_asked(Step step) const {
    return step >= options_.from && step <= options_.to && why_not_needed(config_, step).empty();
  }

  void check_methods() const {
    const bool trains = trains_ensemble(config_), labels = labels_with_ensemble(config_);
    if (trains != labels && config_.advantages.advantage.value_checkpoint.empty()) {
      throw Error(ErrorKind::kConfig,
                  str_cat("step 2 trains ", trains ? "an ensemble" : "a value model", ", but step 3 labels with ",
                          labels ? "an ensemble" : "a value model"),
                  "value.actor.model.model_type, advantages.advantage.method",
                  "steam_value_model goes with method steam, recap_value_model with recap");
    }
  }

  void check_returns_places() {
    for (const DatasetEntry& entry : returns_entries(config_.returns.data)) {
      const std::string root = resolved_path(config_.returns.data, entry.dataset_path);
      problems_.attempt([&root] {
        if (!fs::is_directory(root)) {
          throw Error(ErrorKind::kFile, "no such folder", root, "data.train_data_paths names the datasets");
        }
      });
      if (entry.output_path.empty() && fs::is_directory(root + "/meta")) {
        problems_.attempt([&root] { check_writable_folder(root + "/meta"); });
      }
    }
  }

  /// Copies that step 1 makes are looked at when they are there.
  bool is_made_later(const std::string& root) const {
    const std::vector<std::string> roots = returns_roots(config_);
    const bool is_target = std::any_of(roots.begin(), roots.end(),
                                       [&root](const std::string& other) { return place_of(other) == place_of(root); });
    return is_target && is_asked(Step::kReturns) && !fs::exists(root);
  }

  void check_datasets(const DataSection& data, const std::vector<Named>& entries) {
    for (const Named& named : entries) {
      const std::string root = resolved_path(data, named.entry->dataset_path);
      const std::string robot = named.entry->robot_type.empty() ? data.robot_type : named.entry->robot_type;
      if (!is_made_later(root) && looked_at_.insert(str_cat(place_of(root), "\n", robot)).second) {
        problems_.attempt([&] { (void)open_labelled(data, *named.entry); });
      }
    }
  }

  void check_writable(const DataSection& data, const std::vector<Named>& entries) {
    for (const Named& named : entries) {
      const std::string meta = resolved_path(data, named.entry->dataset_path) + "/meta";
      if (fs::is_directory(meta)) {
        problems_.attempt([&meta] { check_writable_folder(meta); });
      }
    }
  }

  void check_value_model() {
    const ValueModelSection& model = config_.value.actor.model;
    problems_.attempt([&model] { require_path(model.model_path, "value.actor.model.model_path"); });
    problems_.attempt([&model] { require_path(model.siglip_path, "value.actor.model.siglip_path"); });
    problems_.attempt([&model] { require_path(model.gemma3_path, "value.actor.model.gemma3_path"); });
    problems_.attempt([&model] { require_weights(model); });
    problems_.attempt([&model] {
      const data::Tokenizer tokenizer = value_tokenizer(model);
      const auto stored = model.model_path.empty() ? std::nullopt : models::find_value_config(model.model_path);
      const models::ValueConfig config = stored ? *stored : value_config(model);
      data::check_vocabulary(tokenizer, config.architecture.gemma3.vocab_size);
    });
  }

  /// Returns that a step reads are made by step 1, or are there.
  void check_returns(const DataSection& data, const std::vector<Named>& entries, const std::string& tag) {
    std::set<std::string> made;
    for (const std::string& root : returns_roots(config_)) {
      made.insert(place_of(root));
    }
    for (const Named& named : entries) {
      const std::string root = resolved_path(data, named.entry->dataset_path);
      problems_.attempt([&] { require_made(made, root, "returns", tag, named.key); });
    }
  }

  static void require_made(const std::set<std::string>& made, const std::string& root, std::string_view kind,
                           const std::string& tag, const std::string& key) {
    const std::string sidecar = str_cat(root, "/meta/", sidecar_name(kind, tag));
    if (!made.contains(place_of(root)) && !fs::exists(sidecar)) {
      throw Error(ErrorKind::kConfig, str_cat("no step makes the ", kind, " of ", root, ", which ", key, " needs"),
                  sidecar, str_cat("list the dataset in ", kind, ".data.train_data_paths too"));
    }
  }

  void check_labels(const std::vector<Named>& entries);
  void check_policy(const std::vector<Named>& entries);

  const RecapConfig& config_;
  const RunOptions& options_;
  Problems problems_;
  std::set<std::string> looked_at_;
};

/// Labels that step 4 reads are made by step 3 for all its frames, or are there.
void Check::check_labels(const std::vector<Named>& entries) {
  const DataSection &labelled = config_.advantages.data, &used = config_.policy.data;
  std::set<std::string> made;
  for (const DatasetEntry& entry : labelled.train_data_paths) {
    made.insert(place_of(resolved_path(labelled, entry.dataset_path)));
  }
  for (const Named& named : entries) {
    const std::string root = resolved_path(used, named.entry->dataset_path);
    problems_.attempt([&] { require_made(made, root, "advantages", used.advantage_tag, named.key); });
    if (!is_made_later(root)) {
      problems_.attempt([&] { require_labelled_frames(config_, *named.entry, named.key); });
    }
  }
}

/// All that step 4 needs but the labels. With datasets that are not there yet only its files are looked at.
void Check::check_policy(const std::vector<Named>& entries) {
  const PolicyModelSection& model = config_.policy.actor.model;
  const std::string prefix = "policy.actor.model.";
  problems_.attempt([&] { require_path(model.model_path, prefix + "model_path"); });
  problems_.attempt([&] { require_path(model.tokenizer_path, prefix + "tokenizer_path"); });
  problems_.attempt([&] { require_path(model.norm_stats, prefix + "norm_stats"); });
  const bool is_there = std::none_of(entries.begin(), entries.end(), [this](const Named& named) {
    return is_made_later(resolved_path(config_.policy.data, named.entry->dataset_path));
  });
  if (is_there && problems_.empty()) {
    problems_.attempt(
        [this] { (void)prepare_policy(config_, /*checkpoint=*/"", /*with_labels=*/false, options_.group->world()); });
  }
}

}  // namespace

std::string why_not_needed(const RecapConfig& config, Step step) {
  const std::string& given = config.advantages.advantage.value_checkpoint;
  if (step == Step::kReturns && trains_ensemble(config) && labels_with_ensemble(config)) {
    return "STEAM reads no returns";
  }
  if (step == Step::kValue && !given.empty() &&
      !place_of(given).starts_with(place_of(config.output_dir + "/value") + "/")) {
    return "advantage.value_checkpoint is given";
  }
  return {};
}

void check_run(const RecapConfig& config, const RunOptions& options) {
  Check(config, options).run();
}

}  // namespace flexor::recap
