#include "recap/policy_step.h"

#include <ATen/Parallel.h>
#include <array>
#include <memory>
#include <utility>

#include "base/interrupt.h"
#include "base/log.h"
#include "config/print.h"
#include "nn/named_params.h"
#include "recap/policy_checkpoint.h"
#include "recap/policy_setup.h"
#include "recap/policy_task.h"
#include "recap/schedule.h"
#include "recap/training_setup.h"
#include "tensor/tensor.h"
#include "train/policy_setup.h"
#include "train/trainer.h"

namespace flexor::recap {
namespace {

// What a resumed run may change.
constexpr std::array<std::string_view, 9> kFree = {"runner.",
                                                   "data.data_root",
                                                   "data.num_workers",
                                                   "data.train_num_workers",
                                                   "data.eval_num_workers",
                                                   "data.prefetch_factor",
                                                   "actor.fsdp_config.",
                                                   "actor.model.model_path",
                                                   "actor.model.tokenizer_path"};

PolicyFacts facts_of(const PolicyStep& step, const PolicyInputs& inputs) {
  return {.labels_hash = inputs.data.labels_hash(),
          .stats_hash = inputs.stats_hash,
          .stats_source = inputs.stats_source,
          .advantage_tag = step.data.advantage_tag};
}

/// Optimizer with masters as exact as the weights' file, and averages.
void add_optimizer(train::TrainerParts& parts, const PolicyInputs& inputs, models::PolicyModel& model,
                   int64_t micro_batches) {
  const train::TrainConfig& run = inputs.plan.config;
  parts.optimizer = parts.parallel->make_optimizer(train::parts_of(model), run.optimizer, micro_batches);
  if (!inputs.plan.checkpoint && !run.policy.path.empty()) {
    train::sharpen_masters(*parts.optimizer, run.policy.path, model.config().is_pi05());
  }
  if (run.ema.enable) {
    parts.ema = std::make_unique<optim::Ema>(run.ema, parts.optimizer->slots());
  }
}

/// Where a run that goes on stands: fills optimizer, averages, facts and the best validation.
void resume(train::TrainerParts& parts, const PolicyRun& run, GuidedPolicyParts& task) {
  if (task.inputs.plan.checkpoint) {
    parts.progress =
        load_policy_state(run, task.inputs, task.facts, *task.model, *parts.optimizer, parts.ema.get(), task.best);
    parts.parallel->weights_loaded();
    log_info("resumed", {{"checkpoint", task.inputs.plan.checkpoint->folder}, {"step", parts.progress.step}});
  }
  task.first_step = parts.progress.step;
}

}  // namespace

PolicyReport train_policy(const RecapConfig& config) {
  install_interrupt_handlers();
  const PolicyStep& step = config.policy;
  if (config.threads > 0) {
    at::set_num_threads(static_cast<int>(config.threads));
  }
  const PolicyRun run(config.output_dir);
  const std::string checkpoint = resumed_checkpoint(step.runner, run);
  if (!checkpoint.empty()) {
    refuse_changes(run.folder() + "/config.yaml", step, kFree);
  }
  train::TrainerParts parts;
  parts.parallel = train::single_process();
  const RecapSchedule schedule(step.actor.optim, {step.actor.optim.lr});
  parts.learning_rates = [schedule](int64_t s) { return schedule.rates(s); };
  GuidedPolicyParts task{.step = step, .run = run, .inputs = prepare_policy(config, checkpoint)};
  task.rank = parts.parallel->rank();
  task.world = parts.parallel->world();
  task.learning_rate = [schedule](int64_t s) { return schedule.rates(s).front(); };
  task.facts = facts_of(step, task.inputs);
  task.order = policy_order(step, task.inputs.data, task.rank, task.world);
  const int64_t steps = task.inputs.plan.config.steps = total_steps(step.runner, task.order->steps_per_epoch());
  task.model = train::build_model(task.inputs.plan, task.inputs.policy);
  add_optimizer(parts, task.inputs, *task.model,
                step.actor.global_batch_size / step.actor.micro_batch_size / task.world);
  resume(parts, run, task);
  parts.config =
      loop_config(step.runner, run, steps, step.actor.global_batch_size / step.actor.micro_batch_size / task.world);
  parts.config.validate_first = true;
  log_info("policy ready", {{"policy", task.inputs.policy.type},
                            {"parameters", nn::count_params(*task.model)},
                            {"dtype", task.inputs.policy.dtype},
                            {"steps", steps},
                            {"accumulation", parts.config.accumulation}});
  auto policy_task = std::make_unique<GuidedPolicyTask>(std::move(task));
  const GuidedPolicyTask& trained = *policy_task;
  parts.task = std::move(policy_task);
  const auto lock = run.start(config::print(step), !checkpoint.empty());
  train::Trainer trainer(std::move(parts));
  const train::Closing closing = trainer.run();
  return report_of(trainer, closing, run, run.best(), trained.best(), trained.last_validation());
}

}  // namespace flexor::recap
