#include "recap/training_setup.h"

#include <ATen/Parallel.h>
#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "config/finding.h"
#include "train/ranks.h"

namespace flexor::recap {
namespace {

/// Steps in a row whose gradient may be not finite before a run gives up.
constexpr int64_t kMaxSkippedSteps = 10;

}  // namespace

std::string resumed_checkpoint(const RunnerSection& runner, const TrainingFolder& run, dist::Group& group) {
  if (runner.resume_dir.empty()) {
    return {};
  }
  if (runner.resume_dir == "auto") {
    std::optional<std::string> newest = run.newest();
    const int64_t step = newest ? TrainingFolder::step_of(*newest).value_or(-1) : -1;
    const int64_t common = train::agree_on_step(group, step, run.folder());
    if (common < step) {
      newest = run.newest(common);
    }
    if (!newest) {
      log_info("no complete checkpoint yet, starting at step 0", {{"folder", run.folder()}});
    }
    return newest.value_or("");
  }
  if (!std::filesystem::is_directory(runner.resume_dir)) {
    throw Error(ErrorKind::kFile, "no such checkpoint", runner.resume_dir, "runner.resume_dir=auto takes the newest");
  }
  return runner.resume_dir;
}

void refuse_changes(const std::string& stored_path, const config::FlatConfig& stored, const config::FlatConfig& now,
                    std::span<const std::string_view> free) {
  std::vector<config::Finding> findings;
  for (const config::Difference& d : config::differences(stored, now)) {
    const auto is_free = [&](std::string_view key) { return std::string_view(d.key).starts_with(key); };
    if (std::ranges::none_of(free, is_free)) {
      findings.push_back({.key = d.key,
                          .what = str_cat("'", d.key, "' was ", d.before, " and is now ", d.after),
                          .where = stored_path,
                          .hint = "a run goes on with its own configuration; start a new one in another output_dir"});
    }
  }
  if (!findings.empty()) {
    throw config::to_error(findings);
  }
}

void prepare_process(const RecapConfig& config) {
  install_interrupt_handlers();
  if (config.threads > 0) {
    at::set_num_threads(static_cast<int>(config.threads));
  }
}

int64_t total_steps(const RunnerSection& runner, int64_t steps_per_epoch) {
  int64_t steps = -1;
  if (runner.max_epochs > 0) {
    steps = runner.max_epochs * steps_per_epoch;
  }
  if (runner.max_steps >= 0) {
    steps = steps < 0 ? runner.max_steps : std::min(steps, runner.max_steps);
  }
  return steps < 0 ? steps_per_epoch : steps;
}

optim::AdamWConfig adamw_config(const OptimSection& config) {
  return {.lr = config.lr,
          .betas = {config.adam_beta1, config.adam_beta2},
          .eps = config.adam_eps,
          .weight_decay = config.weight_decay,
          .grad_clip_norm = config.clip_grad};
}

train::LoopConfig loop_config(const RunnerSection& runner, const TrainingFolder& run, int64_t steps,
                              int64_t accumulation) {
  return {.steps = steps,
          .accumulation = accumulation,
          .log_freq = runner.log_interval,
          .eval_freq = runner.val_check_interval,
          .save_freq = runner.save_interval,
          .output_dir = run.folder(),
          .validate_first = false,
          .log_used_lr = true,
          .max_skipped_steps = kMaxSkippedSteps};
}

std::unique_ptr<FolderLock> start_folder(const TrainingFolder& run, const std::string& config_yaml, bool resumed,
                                         dist::Group& group) {
  group.barrier();
  return group.is_main() ? run.start(config_yaml, resumed) : nullptr;
}

TrainingReport report_of(const train::Trainer& trainer, const train::Closing& closing, const TrainingFolder& run,
                         std::string best, const BestValue& best_value, std::map<std::string, double> validation) {
  return {.folder = run.folder(),
          .checkpoint = trainer.last_checkpoint(),
          .best = std::move(best),
          .steps = trainer.progress().step,
          .final_loss = closing.final_loss,
          .samples_per_s = closing.samples_per_s,
          .best_step = best_value.step,
          .validation = std::move(validation)};
}

}  // namespace flexor::recap
