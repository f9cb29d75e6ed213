#include "recap/run.h"

#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "config/print.h"
#include "recap/run_check.h"
#include "recap/run_ranks.h"
#include "recap/run_step.h"
#include "recap/stale_files.h"
#include "recap/value_shards.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

/// Checks all that can be checked and makes OUT ready. @return OUT
std::string ready_folder(const RecapConfig& config, const RunOptions& options) {
  check_run(config, options);
  const std::string& folder = config.output_dir;
  if (fs::exists(folder + "/config.yaml") && !fs::exists(folder + "/recap_run.json")) {
    throw Error(ErrorKind::kConfig, "the folder holds another run: config.yaml without recap_run.json", folder,
                "give another output_dir");
  }
  check_writable_folder(folder);
  return folder;
}

/// Folder of a step that trains.
std::string folder_of(const RecapConfig& config, Step step) {
  return str_cat(config.output_dir, "/", step_name(step));
}

/// Where a training starts: at its newest checkpoint, if that is one of this very training.
void set_start(RunnerSection& runner, const std::string& folder, bool resumes, bool is_known) {
  if (resumes && !has_stale(folder)) {
    runner.resume_dir = "auto";
    return;
  }
  if (runner.resume_dir == "auto" && is_known) {
    runner.resume_dir.clear();
  }
  if (runner.resume_dir.empty()) {
    mark_stale(folder);  // the training removes them, after its own checks
  }
}

/// Metrics that were lost do not make a step run again: hours of training would only give the same weights.
void warn_without_metrics(const RecapConfig& config, Step step) {
  if (step != Step::kValue && step != Step::kPolicy) {
    return;
  }
  if (const std::string problem = metrics_problem(folder_of(config, step)); !problem.empty()) {
    log_warn(
        "a finished training has no readable metrics.jsonl, the report lacks its curves; "
        "only training it again writes them (--from STEP --to STEP --force)",
        {{"step", step_name(step)}, {"file", folder_of(config, step) + "/metrics.jsonl"}, {"problem", problem}});
  }
}

/// Values of an interrupted step 3 that was of other settings or inputs.
void remove_shards(const RecapConfig& config) {
  for (const DatasetEntry& entry : config.advantages.data.train_data_paths) {
    const std::string root = resolved_path(config.advantages.data, entry.dataset_path);
    remove_value_shards(shards_folder(root, config.advantages.advantage.tag));
  }
}

/// The configuration as the step is to be run with.
RecapConfig prepared(RecapConfig config, Step step, bool resumes, bool is_known) {
  if (step == Step::kValue) {
    set_start(config.value.runner, folder_of(config, step), resumes, is_known);
  } else if (step == Step::kPolicy) {
    set_start(config.policy.runner, folder_of(config, step), resumes, is_known);
  } else if (step == Step::kAdvantages && !resumes) {
    remove_shards(config);
  }
  return config;
}

}  // namespace

RecapRun::RecapRun(const RecapConfig& config, const RunOptions& options)
    : config_(config), options_(options), lock_(ready_folder(config, options)), state_(config.output_dir) {
  state_.save();
  write_file_atomic(config_.output_dir + "/config.yaml", config::print(config_));
}

std::vector<StepRow> RecapRun::run() {
  try {
    std::vector<StepRow> rows = visit_all();
    tell_end(*options_.group);
    return rows;
  } catch (const Error& error) {
    tell_stop(*options_.group, error.kind());
    throw;
  }
}

std::vector<StepRow> RecapRun::visit_all() {
  std::vector<StepRow> rows;
  for (const Step step : kSteps) {
    check_interrupt();
    rows.push_back(visit(step));
  }
  return rows;
}

StepRow RecapRun::visit(Step step) {
  StepState& known = state_.step(step);
  StepRow row{.step = step, .result = "not asked for", .why = {}, .seconds = 0, .made = known.made};
  if (const std::string why = why_not_needed(config_, step); !why.empty()) {
    row.result = "not needed", row.why = why;
    return row;
  }
  if (step < options_.from) {
    require_done(step);
    return row;
  }
  if (step > options_.to) {
    return row;
  }
  StepPlan plan = plan_step(config_, step, state_.hashes());
  const std::string why = options_.force ? "--force" : why_not_done(step, plan);
  if (why.empty()) {
    row.result = "skipped", row.why = "nothing changed";
    state_.save();  // with the times of files that were read again
    log_info("step skipped, nothing changed", {{"step", step_name(step)}});
    warn_without_metrics(config_, step);
    return row;
  }
  return execute(step, std::move(plan), why);
}

StepRow RecapRun::execute(Step step, StepPlan plan, const std::string& why) {
  StepState& known = state_.step(step);
  const bool is_known = known.status != StepState::Status::kNever;
  const bool resumes = !options_.force && goes_on(step, plan);
  log_info(resumes ? "step goes on" : "step starts", {{"step", step_name(step)}, {"why", why}});
  const double earlier_s = resumes ? known.seconds : 0, start = wall_seconds();
  const RecapConfig config = prepared(config_, step, resumes, is_known);
  known = {
      .status = StepState::Status::kRunning, .plan = std::move(plan), .outputs = {}, .made = {}, .seconds = earlier_s};
  state_.save();
  std::error_code ignored;
  fs::remove(config_.output_dir + "/report.html", ignored);  // it no longer tells what is there
  try {
    tell_step(*options_.group, config, step);
    known.made = run_step(config, step, options_.group);
  } catch (const Error&) {
    known.seconds = earlier_s + wall_seconds() - start;
    state_.save();
    throw;
  }
  const double seconds = wall_seconds() - start;
  forget_stale(folder_of(config_, step));
  known.status = StepState::Status::kDone;
  known.seconds = earlier_s + seconds;
  known.outputs = outputs_of_step(config_, step, state_.hashes());
  state_.save();
  return {.step = step, .result = resumes ? "resumed" : "ran", .why = why, .seconds = seconds, .made = known.made};
}

std::string RecapRun::why_not_done(Step step, const StepPlan& plan) {
  const StepState& known = state_.step(step);
  if (known.status == StepState::Status::kNever) {
    return "never ran";
  }
  if (const auto changed = why_changed(known.plan, plan)) {
    return *changed;
  }
  if (known.status == StepState::Status::kRunning) {
    return "was interrupted";
  }
  return changed_output(step);
}

std::string RecapRun::changed_output(Step step) {
  const Json now = outputs_of_step(config_, step, state_.hashes());
  for (const auto& [name, hash] : now.as_object()) {
    const Json* before = state_.step(step).outputs.find(name);
    if (before == nullptr || !(*before == hash)) {
      return str_cat(hash == Json("") ? "output is gone: " : "output changed: ", name);
    }
  }
  return {};
}

/// A step that was interrupted, or a training that may only take more steps than it took. One that was validated after
/// its last step alone, where a longer one is not, could point `best` to a step that a longer one never does.
bool RecapRun::goes_on(Step step, const StepPlan& plan) {
  const StepState& known = state_.step(step);
  const bool is_training = step == Step::kValue || step == Step::kPolicy;
  if (known.status == StepState::Status::kNever) {
    return false;
  }
  if (known.status == StepState::Status::kRunning) {
    return !why_changed(known.plan, plan) || (is_training && only_longer(known.plan, plan));
  }
  if (!is_training || !why_changed(known.plan, plan) || !only_longer(known.plan, plan)) {
    return false;
  }
  const RunnerSection& runner = step == Step::kValue ? config_.value.runner : config_.policy.runner;
  const bool is_regular =
      runner.val_check_interval <= 0 || known.made.at("steps").as_int() % runner.val_check_interval == 0;
  return is_regular && changed_output(step).empty();
}

void RecapRun::require_done(Step step) {
  const std::string name(step_name(step));
  std::string why;
  if (state_.step(step).status == StepState::Status::kNever) {
    why = "never ran";  // what it needs may not be there
  } else {
    why = why_not_done(step, plan_step(config_, step, state_.hashes()));
  }
  if (!why.empty()) {
    throw Error(
        ErrorKind::kData,
        str_cat("--from ", step_name(options_.from), " needs step '", name, "', which is not up to date: ", why),
        state_.path(), str_cat("--from ", name, ", or no --from"));
  }
}

}  // namespace flexor::recap
