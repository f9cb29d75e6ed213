#include "recap/value_step.h"

#include <ATen/Parallel.h>
#include <memory>
#include <utility>

#include "base/interrupt.h"
#include "base/log.h"
#include "base/process_memory.h"
#include "config/print.h"
#include "models/value_weights.h"
#include "nn/named_params.h"
#include "recap/schedule.h"
#include "recap/training_setup.h"
#include "recap/value_plan.h"
#include "recap/value_setup.h"
#include "recap/value_task.h"
#include "tensor/tensor.h"
#include "train/trainer.h"

namespace flexor::recap {
namespace {

std::unique_ptr<optim::AdamW> make_optimizer(const ValueStep& step, models::ValueModel& model,
                                             train::ParallelContext& parallel) {
  const int64_t micro_batches = step.actor.global_batch_size / step.actor.micro_batch_size / parallel.world();
  auto optimizer = parallel.make_optimizer(train::parts_of(model), adamw_config(step.actor.optim), micro_batches);
  for (optim::Slot& slot : optimizer->slots()) {
    slot.group = slot.name.find("value_head") != std::string::npos ? 1 : 0;
  }
  return optimizer;
}

/// The facts of the run that its checkpoints say.
void describe_run(models::ValueModel& model, const ValueStep& step, const ReturnRange& range) {
  models::ValueConfig& config = model.config();
  config.robot_type = step.data.robot_type;
  config.returns_tag = step.data.tag;
  config.normalize_to_minus_one_zero = step.data.normalize_to_minus_one_zero;
  config.return_min = range.min;
  config.return_max = range.max;
}

std::shared_ptr<models::ValueModel> open_model(const ValueStep& step, const std::string& checkpoint) {
  if (checkpoint.empty()) {
    return build_value_model(step);
  }
  ValueStep resumed = step;
  resumed.actor.model.model_path = checkpoint;
  return build_value_model(resumed);
}

}  // namespace

ValueReport train_value(const RecapConfig& config) {
  install_interrupt_handlers();
  const ValueStep& step = config.value;
  if (config.threads > 0) {
    at::set_num_threads(static_cast<int>(config.threads));
  }
  const ValueRun run(config.output_dir);
  const std::string checkpoint = resumed_checkpoint(step.runner, run);
  if (!checkpoint.empty()) {
    refuse_changes(run.folder() + "/config.yaml", step, kFreeValueKeys);
  }
  const data::Tokenizer tokenizer =
      checkpoint.empty() ? value_tokenizer(step.actor.model) : data::Tokenizer::open(checkpoint);
  ValueData data = open_value_data(step);
  train::TrainerParts parts;
  parts.memory.resident_before = resident_bytes();
  const std::shared_ptr<models::ValueModel> model = open_model(step, checkpoint);
  data::check_vocabulary(tokenizer, model->config().architecture.gemma3.vocab_size);
  describe_run(*model, step, data.range);

  parts.parallel = train::single_process();
  parts.optimizer = make_optimizer(step, *model, *parts.parallel);
  BestValue best;
  if (!checkpoint.empty()) {
    parts.progress = load_value_state(checkpoint, *parts.optimizer, best);
    parts.parallel->weights_loaded();
    log_info("resumed", {{"checkpoint", checkpoint}, {"step", parts.progress.step}});
  }
  const RecapSchedule schedule(step.actor.optim, {step.actor.optim.lr, step.actor.optim.value_lr});
  parts.learning_rates = [schedule](int64_t s) { return schedule.rates(s); };
  const int64_t world = parts.parallel->world();
  const int64_t accumulation = step.actor.global_batch_size / step.actor.micro_batch_size / world;
  auto task = std::make_unique<ValueTask>(step, run, std::move(data), ValueEstimator(model, tokenizer),
                                          parts.parallel->rank(), world, parts.progress.step * accumulation, best);
  ValueTask& value_task = *task;
  const int64_t steps = total_steps(step.runner, task->steps_per_epoch());
  parts.config = loop_config(step.runner, run, steps, accumulation);
  parts.memory.plan = [&value_task, model, step, world] {
    return plan_value(*model, step, models::shape_of(value_task.last_batch()), world);
  };
  parts.task = std::move(task);
  log_info("value model ready", {{"parameters", nn::count_params(*model)},
                                 {"steps", steps},
                                 {"accumulation", accumulation},
                                 {"precision", step.actor.model.precision}});

  const auto lock = run.start(config::print(step), !checkpoint.empty());
  train::Trainer trainer(std::move(parts));
  const train::Closing closing = trainer.run();
  return report_of(trainer, closing, run, run.best(), value_task.best(), value_task.last_validation());
}

}  // namespace flexor::recap
