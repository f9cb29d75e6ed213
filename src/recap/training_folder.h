#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/folder_lock.h"
#include "base/json.h"
#include "train/progress.h"

namespace flexor::recap {

/// The best validation of a run so far.
struct BestValue {
  int64_t step = -1;  ///< none yet
  double loss = std::numeric_limits<double>::infinity();
};

/// What a finished training did.
struct TrainingReport {
  bool is_main = true;     ///< false on ranks that only helped: the rest is empty then
  std::string folder;      ///< OUT/value, OUT/policy
  std::string checkpoint;  ///< the last one, .../global_step_N
  std::string best;        ///< by the validation loss, the last one without validation
  int64_t steps = 0;
  double final_loss = 0;                     ///< mean of the last 50 steps
  double samples_per_s = 0;                  ///< without the first steps
  int64_t best_step = -1;                    ///< -1: not validated
  std::map<std::string, double> validation;  ///< metrics of the last validation, without "eval/"

  static TrainingReport of_helper() {
    TrainingReport report;
    report.is_main = false;
    return report;
  }
};

/// The folder of one of RECAP's trainings: checkpoints/global_step_N, and links best and last to two of them. Beside
/// the model's config.json and model.safetensors, a checkpoint has training_state/ with STATE_FILE and the optimizer's
/// state; without one of them it is incomplete.
class TrainingFolder {
 public:
  /// @param folder      need not exist
  /// @param kind        of the model, for messages: "a value model"
  /// @param state_file  a JSON file below training_state
  /// @param model_folder  of config.json and model.safetensors in a checkpoint: "", or with a slash at its end
  TrainingFolder(std::string folder, std::string kind, std::string state_file, std::string model_folder)
      : folder_(std::move(folder)),
        kind_(std::move(kind)),
        state_file_(std::move(state_file)),
        model_folder_(std::move(model_folder)) {}

  const std::string& folder() const { return folder_; }
  std::string checkpoints() const { return folder_ + "/checkpoints"; }
  std::string checkpoint(int64_t step) const;
  std::string state_file(const std::string& checkpoint) const;
  /// N of .../global_step_N; nothing for another name.
  static std::optional<int64_t> step_of(const std::string& checkpoint);
  /// The complete checkpoint with the largest step: folders appear whole, but may be damaged later. Warns of those that
  /// it passes over. @param at_most  later ones do not count
  std::optional<std::string> newest(int64_t at_most = INT64_MAX) const;
  /// What `best` points to, else `last`; nothing if there is neither.
  std::optional<std::string> best_or_last() const;

  /// Writes checkpoints/global_step_N whole or not at all and points `last` to it, and `best` if it is the best one.
  /// @param fill  writes everything into a folder  @return the checkpoint's folder  @throws Error(kFile)
  std::string save(int64_t step, const std::function<void(const std::string& folder)>& fill,
                   const BestValue& best) const;
  /// Points a link, `last` or `best`, to the checkpoint of this name.
  void point(const std::string& link, const std::string& name) const;
  /// Removes a checkpoint that was kept only for being the best.
  void remove(int64_t step) const;
  /// Removes checkpoints and metrics of an earlier run. @throws Error(kFile) if something else stands among them
  void clear() const;
  /// Makes the folder ready: writable, empty unless `resumed`, with config.yaml in it.
  /// @return keeps other processes out of the folder while it lives  @throws Error(kFile), also if another one holds it
  [[nodiscard]] std::unique_ptr<FolderLock> start(const std::string& config_yaml, bool resumed) const;

 private:
  /// After a run that was killed between a checkpoint and its links.
  void repair_links() const;

  /// The first file without which `checkpoint` is incomplete, "" if all are there.
  std::string lacking_file(const std::string& checkpoint) const;

  std::string folder_, kind_, state_file_, model_folder_;
};

/// Which checkpoint is the best one, and which is no longer worth keeping for it.
class BestKeeper {
 public:
  /// @param resumed_step  of the checkpoint that this process goes on from: its files are in use, so it stays
  BestKeeper(const BestValue& best, int64_t resumed_step) : best_(best), resumed_step_(resumed_step) {}

  const BestValue& best() const { return best_; }
  /// After a validation. @return whether it is the best one, so that a checkpoint of this step is wanted
  bool offer(int64_t step, double loss);
  /// After the checkpoint of `step` was saved: removes the one that was the best, unless save_interval keeps it.
  void saved(const TrainingFolder& folder, int64_t step, int64_t save_interval);

 private:
  BestValue best_;
  int64_t resumed_step_;
  int64_t superseded_ = -1;  ///< the best one before
};

/// Members best_step, best_loss of a state file, and back.
void add_best(Json& state, const BestValue& best);
BestValue best_of(const Json& state);
/// Member validation_due of a state file, and back.
void add_validation_due(Json& state, const train::Progress& progress);
bool validation_due_of(const Json& state);
/// A state file. @throws Error(kFile), Error(kData), Error(kCheckpoint) if it is none
Json read_state(const std::string& path);

}  // namespace flexor::recap
