#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "recap/file_hashes.h"
#include "recap/recap_config.h"

namespace flexor::recap {

/// What a step depends on. Two equal plans give the same files.
struct StepPlan {
  Json settings;  ///< the step's section without what only changes speed, logging or memory
  Json inputs;    ///< {"dataset data/a": hash, "returns data/a/meta/returns_t.parquet": hash, ...}
};

/// Settings and inputs of a step as they are now. An input that is not there has the hash "".
/// @throws Error(kFile) for a file that cannot be read or a run without value model; Error(kInterrupted)
StepPlan plan_step(const RecapConfig& config, Step step, FileHashes& hashes);

/// What a step writes, {name: hash}, "" for what is not there. Checkpoints count without what only resuming needs; of
/// stats.json and info.json it counts whether the entries of step 1 are there.
Json outputs_of_step(const RecapConfig& config, Step step, FileHashes& hashes);

/// What is wrong with the metrics.jsonl of a training that is done: "" if it is there and can be read. No later step
/// reads it, only the report does for its curves.
std::string metrics_problem(const std::string& folder);

/// Whether step 2 trains the ensemble instead of the value model, and step 3 labels with it.
bool trains_ensemble(const RecapConfig& config);
bool labels_with_ensemble(const RecapConfig& config);

/// Folder of the dataset that an entry of step 1 writes into: its output_path, else the dataset itself.
std::vector<std::string> returns_roots(const RecapConfig& config);

/// Whether all that changed is that a training may take more steps than before (runner.max_steps, runner.max_epochs),
/// so that its weights after the former steps are those that it would have now.
bool only_longer(const StepPlan& before, const StepPlan& now);

/// One sentence on the first difference: "settings changed: actor.optim.lr was 0.1, is 0.2"; nothing if there is none.
std::optional<std::string> why_changed(const StepPlan& before, const StepPlan& now);

}  // namespace flexor::recap
