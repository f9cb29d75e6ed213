#include "recap/value_step.h"

#include <memory>
#include <utility>

#include "base/log.h"
#include "base/process_memory.h"
#include "config/print.h"
#include "dist/choose_device.h"
#include "models/value_weights.h"
#include "nn/named_params.h"
#include "recap/ranks.h"
#include "recap/schedule.h"
#include "recap/training_setup.h"
#include "recap/value_plan.h"
#include "recap/value_setup.h"
#include "recap/value_task.h"
#include "tensor/tensor.h"
#include "train/ranks.h"
#include "train/trainer.h"

namespace flexor::recap {
namespace {

std::unique_ptr<optim::AdamW> make_optimizer(const ValueStep& step, models::ValueModel& model,
                                             train::ParallelContext& parallel) {
  auto optimizer = parallel.make_optimizer(train::parts_of(model), adamw_config(step.actor.optim),
                                           micro_batches(step.actor, parallel.world()));
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

ValueReport train_value(const RecapConfig& config, const std::shared_ptr<dist::Group>& group) {
  const ValueStep& step = config.value;
  dist::choose_device(config.device);
  const ValueRun run(config.output_dir);
  const std::string checkpoint = begin_training(config, Step::kValue, step, run, kFreeValueKeys, *group);
  const data::Tokenizer tokenizer =
      checkpoint.empty() ? value_tokenizer(step.actor.model) : data::Tokenizer::open(checkpoint);
  ValueData data = open_value_data(step);
  train::TrainerParts parts;
  parts.memory.resident_before = resident_bytes();
  const std::shared_ptr<models::ValueModel> model = open_model(step, checkpoint);
  data::check_vocabulary(tokenizer, model->config().architecture.gemma3.vocab_size);
  describe_run(*model, step, data.range);
  parts.parallel = train::make_context(step.actor.fsdp_config.sharding_strategy, group);
  parts.optimizer = make_optimizer(step, *model, *parts.parallel);
  const BestValue best = start_value_state(parts, checkpoint);
  const RecapSchedule rates(step.actor.optim, {step.actor.optim.lr, step.actor.optim.value_lr});
  parts.learning_rates = [rates](int64_t s) { return rates.rates(s); };
  auto task = std::make_unique<ValueTask>(step, run, std::move(data), ValueEstimator(model, tokenizer), group,
                                          parts.progress.step, best);
  ValueTask& value_task = *task;
  const int64_t steps = total_steps(step.runner, task->steps_per_epoch());
  parts.config = loop_config(step.runner, run, steps, micro_batches(step.actor, group->world()));
  parts.memory.plan = [&value_task, model, step, world = group->world(), of_node = group->launch().local_world] {
    const models::BatchShape shape = models::shape_of(value_task.last_batch());  // ranks may lack the model's weights
    return world == 1 ? plan_value(*model, step, shape, world) : plan_value(step, shape, world, of_node);
  };
  parts.task = std::move(task);
  log_info("value model ready", {{"parameters", nn::count_params(*model)},
                                 {"steps", parts.config.steps},
                                 {"accumulation", parts.config.accumulation},
                                 {"precision", step.actor.model.precision}});

  const auto lock = start_folder(run, config::print(step), !checkpoint.empty(), *group);
  train::Trainer trainer(std::move(parts));
  const train::Closing closing = trainer.run();
  if (!group->is_main()) {
    return TrainingReport::of_helper();
  }
  return report_of(trainer, closing, run, run.best(), value_task.best(), value_task.last_validation());
}

}  // namespace flexor::recap
