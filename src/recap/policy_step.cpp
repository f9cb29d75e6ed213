#include "recap/policy_step.h"

#include <array>
#include <memory>
#include <utility>

#include "base/log.h"
#include "config/print.h"
#include "dist/choose_device.h"
#include "nn/named_params.h"
#include "recap/policy_checkpoint.h"
#include "recap/policy_setup.h"
#include "recap/policy_task.h"
#include "recap/ranks.h"
#include "recap/schedule.h"
#include "recap/training_setup.h"
#include "tensor/tensor.h"
#include "train/policy_setup.h"
#include "train/ranks.h"
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
    log_info("resumed", {{"checkpoint", task.inputs.plan.checkpoint->folder}, {"step", parts.progress.step}});
  }
  parts.parallel->weights_loaded();
  task.first_step = parts.progress.step;
}

}  // namespace

PolicyReport train_policy(const RecapConfig& config, const std::shared_ptr<dist::Group>& group) {
  const PolicyStep& step = config.policy;
  dist::choose_device(config.device);
  const PolicyRun run(config.output_dir);
  const std::string checkpoint = begin_training(config, Step::kPolicy, step, run, kFree, *group);
  train::TrainerParts parts;
  parts.parallel = train::make_context(step.actor.fsdp_config.sharding_strategy, group);
  const RecapSchedule schedule(step.actor.optim, {step.actor.optim.lr});
  parts.learning_rates = [schedule](int64_t s) { return schedule.rates(s); };
  GuidedPolicyParts task{
      .step = step, .run = run, .inputs = prepare_policy(config, checkpoint, /*with_labels=*/true, group->world())};
  task.group = group;
  task.learning_rate = [schedule](int64_t s) { return schedule.rates(s).front(); };
  task.facts = facts_of(step, task.inputs);
  task.order = policy_order(step, task.inputs.data, *group);
  const int64_t steps = task.inputs.plan.config.steps = total_steps(step.runner, task.order->steps_per_epoch());
  const int64_t accumulation = micro_batches(step.actor, group->world());
  task.model = train::build_model(task.inputs.plan, task.inputs.policy);
  const int64_t num_params = nn::count_params(*task.model);
  add_optimizer(parts, task.inputs, *task.model, accumulation);
  resume(parts, run, task);
  parts.config = loop_config(step.runner, run, steps, accumulation);
  parts.config.validate_first = true;
  log_info("policy ready", {{"policy", task.inputs.policy.type},
                            {"parameters", num_params},
                            {"dtype", task.inputs.policy.dtype},
                            {"steps", steps},
                            {"accumulation", accumulation}});
  auto policy_task = std::make_unique<GuidedPolicyTask>(std::move(task));
  const GuidedPolicyTask& trained = *policy_task;
  parts.task = std::move(policy_task);
  const auto lock = start_folder(run, config::print(step), !checkpoint.empty(), *group);
  train::Trainer trainer(std::move(parts));
  const train::Closing closing = trainer.run();
  if (!group->is_main()) {
    return TrainingReport::of_helper();
  }
  return report_of(trainer, closing, run, run.best(), trained.best(), trained.last_validation());
}

}  // namespace flexor::recap
