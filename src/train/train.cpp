#include "train/train.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <filesystem>
#include <iostream>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/folder_lock.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/process_memory.h"
#include "base/str_cat.h"
#include "device/device.h"
#include "dist/binding.h"
#include "dist/choose_device.h"
#include "dist/cpu_mask.h"
#include "dist/launch_env.h"
#include "nn/named_params.h"
#include "tensor/block_pool.h"
#include "tensor/tensor.h"
#include "train/checkpoint.h"
#include "train/policy_plan.h"
#include "train/policy_setup.h"
#include "train/policy_task.h"
#include "train/ranks.h"
#include "train/run_folder.h"
#include "train/run_inputs.h"
#include "train/trainer.h"
#include "train/training_state.h"

namespace flexor::train {

namespace {

void store_stats(const RunPlan& plan, const RunInputs& inputs) {
  if (inputs.computed_stats) {
    const std::string path = plan.config.output_dir + "/stats.json";
    write_file_atomic(path, schema::to_json(*inputs.computed_stats).dump(4));
    log_info("statistics stored", {{"file", path}});
  }
}

std::unique_ptr<optim::AdamW> make_optimizer(const RunPlan& plan, models::PolicyModel& model,
                                             ParallelContext& parallel) {
  auto optimizer =
      parallel.make_optimizer(parts_of(model), plan.config.optimizer, accumulation(plan.config, parallel.world()));
  if (!plan.checkpoint && !plan.config.policy.path.empty()) {
    sharpen_masters(*optimizer, plan.config.policy.path, model.config().is_pi05());
  }
  return optimizer;
}

/// Counters to start from; fills optimizer and averages when a checkpoint is resumed.
Progress start_progress(const RunPlan& plan, models::PolicyModel& model, TrainerParts& parts) {
  Progress progress;
  for (const std::string& skipped : plan.skipped) {
    log_warn(str_cat("an incomplete checkpoint was skipped: ", skipped));
  }
  if (plan.checkpoint) {
    progress = load_checkpoint(*plan.checkpoint, model, *parts.optimizer, parts.ema.get(), plan.config.lora.enable);
    if (!is_flexor_checkpoint(*plan.checkpoint)) {
      log_info("the checkpoint is LeRobot's: its step decides the position in the data, the noise and the schedule");
    }
    log_info("resumed", {{"checkpoint", plan.checkpoint->folder}, {"step", progress.step}});
  } else if (plan.config.is_resume()) {
    log_info("no complete checkpoint yet, starting at step 0", {{"output_dir", plan.config.output_dir}});
  }
  progress.schedule_steps = std::max(progress.schedule_steps, plan.schedule_steps);
  return progress;
}

/// The checkpoint of a resumed run, "" if there is none, LeRobot wrote it, or it was not finished by the link to it.
std::string finished_checkpoint(const RunPlan& plan) {
  if (!plan.checkpoint || !is_flexor_checkpoint(*plan.checkpoint)) {
    return {};
  }
  std::error_code code;
  const bool is_last =
      std::filesystem::equivalent(plan.config.output_dir + "/checkpoints/last", plan.checkpoint->folder, code);
  return is_last ? plan.checkpoint->folder : std::string();
}

Json earlier_train_config(const RunPlan& plan) {
  const std::string path = plan.checkpoint ? plan.checkpoint->pretrained() + "/train_config.json" : std::string();
  return !path.empty() && std::filesystem::exists(path) ? Json::read_file(path) : Json();
}

LoopConfig loop_config(const TrainConfig& config, int64_t world) {
  return {.steps = config.steps,
          .accumulation = accumulation(config, world),
          .log_freq = config.log_freq,
          .eval_freq = config.eval_freq,
          .save_freq = config.save_freq,
          .output_dir = config.output_dir,
          .log_style = config.log.style};
}

/// A place that keeps its order when the step size changes with the number of ranks.
SourcePlace source_place(const RunPlan& plan, const ParallelContext& parallel, int64_t first_step) {
  SourcePlace place{.rank = parallel.rank(), .world = parallel.world(), .first_step = first_step, .position = {}};
  if (plan.checkpoint) {
    place.position = read_position(*plan.checkpoint);
  }
  return place;
}

/// @param slice  the processors of this process
TrainerParts build(const RunPlan& plan, RunInputs inputs, const dist::Slice& slice,
                   const std::shared_ptr<dist::Group>& group) {
  TrainerParts parts;
  parts.config = loop_config(plan.config, group->world());
  parts.parallel = make_context(plan.config.parallel.strategy, group);
  parts.memory.resident_before = resident_bytes();
  auto model = build_model(plan, inputs.policy);
  const int64_t num_params = nn::count_params(*model);
  parts.optimizer = make_optimizer(plan, *model, *parts.parallel);
  if (plan.config.ema.enable) {
    parts.ema = std::make_unique<optim::Ema>(plan.config.ema, parts.optimizer->slots());
  }
  parts.progress = start_progress(plan, *model, parts);
  parts.checkpoint = finished_checkpoint(plan);
  parts.parallel->weights_loaded();
  const int64_t micro_steps = parts.config.accumulation;
  const SourcePlace place = source_place(plan, *parts.parallel, parts.progress.step);
  const optim::LrSchedule schedule(plan.config.scheduler, plan.config.optimizer.lr, parts.progress.schedule_steps);
  parts.learning_rates = [schedule](int64_t step) { return std::vector<double>{schedule.lr(step)}; };
  log_info("model ready", {{"policy", inputs.policy.type},
                           {"parameters", num_params},
                           {"dtype", inputs.policy.dtype},
                           {"accumulation", micro_steps}});
  PolicyTaskParts task{.config = plan.config,
                       .policy = inputs.policy,
                       .model = std::move(model),
                       .schedule = schedule,
                       .source = {},
                       .validator = {},
                       .processor = inputs.processor,
                       .processor_source = inputs.processor_source,
                       .lerobot_config = earlier_train_config(plan)};
  if (inputs.data) {
    const dist::ScopedCpus decoding(slice.loader_cpus);  // the loader's threads start here
    task.source = dataset_source(plan.config, inputs.policy, *inputs.data, inputs.processor, place);
    if (inputs.data->held_out && plan.config.eval_freq > 0) {
      task.validator =
          std::make_unique<Validator>(plan.config, inputs.policy, inputs.data->held_out, inputs.processor, group);
    }
  } else {
    task.source = file_source(plan.config, inputs.policy, micro_steps, place);
  }
  auto policy_task = std::make_unique<PolicyTask>(std::move(task));
  PolicyTask* last = policy_task.get();
  parts.memory.plan = [config = plan.config, policy = inputs.policy, world = group->world(),
                       node = group->launch().local_world,
                       last] { return plan_policy(last->model(), config, policy, last->last_shape(), world, node); };
  parts.task = std::move(policy_task);
  return parts;
}

/// Once the folder is locked: another run may have worked in it since `plan` was made.
void check_unchanged(const RunPlan& plan, const config::Sources& sources, int64_t world) {
  const RunPlan now = plan_run(sources, world, plan.checkpoint ? plan.checkpoint->step : INT64_MAX);
  const auto step = [](const RunPlan& p) { return p.checkpoint ? p.checkpoint->step : -1; };
  if (step(now) != step(plan) || now.is_resumed != plan.is_resumed) {
    throw Error(ErrorKind::kFile, "another process has worked in the folder meanwhile", plan.config.output_dir,
                "resume the run again");
  }
}

/// What holds for the whole process. Before anything computes: threads inherit the processors of the one that starts
/// them.
dist::Slice apply_settings(const TrainConfig& config) {
  use_block_pool();
  dist::Slice slice;
  if (config.runtime.bind != "none") {
    const dist::Launch launch = dist::resolve_launch(dist::process_env());
    slice = dist::bind(launch.local_rank, launch.local_world, config.runtime.bind, config.num_workers);
  }
  if (config.threads > 0) {
    at::set_num_threads(static_cast<int>(config.threads));
  }
  dist::choose_device(config.device);
  at::globalContext().setDeterministicAlgorithms(config.deterministic, /*warn_only=*/false);
  return slice;
}

RunResult run_together(const config::Sources& sources, const std::shared_ptr<dist::Group>& group) {
  const RunPlan plan = common_plan(sources, *group);
  const dist::Slice slice = apply_settings(plan.config);
  check_memory(plan.config, plan.checkpoint ? resumed_policy(plan) : plan.config.policy.config, group->world());
  const RunInputs inputs = prepare_inputs(plan);
  check_ranks(*group, plan);  // from here on the main rank writes: the others have read the folder
  group->use_device(device::current());
  std::optional<FolderLock> lock;
  if (group->is_main()) {
    check_writable_folder(plan.config.output_dir);
    lock.emplace(plan.config.output_dir);
    check_unchanged(plan, sources, group->world());
  }
  TrainerParts parts = build(plan, inputs, slice, group);
  if (group->is_main()) {
    start_run_folder(
        plan);  // from here on the run exists: what failed above leaves an empty folder, free for another try
    store_stats(plan, inputs);
  }
  Trainer trainer(std::move(parts));
  const Closing closing = trainer.run();
  if (group->is_main()) {
    if (closing.has_steps()) {  // else the numbers of the run that trained stay
      write_closing(closing, plan.config, group->world());
    }
    print_closing(std::cout, closing);
  }
  return {.is_main = group->is_main(),
          .output_dir = plan.config.output_dir,
          .checkpoint = trainer.last_checkpoint() + "/pretrained_model",
          .steps = trainer.progress().step,
          .final_loss = closing.final_loss,
          .samples_per_s = closing.samples_per_s};
}

/// Strategy and patience, before the configuration is checked in whole.
TrainConfig peek_config(const config::Sources& sources, int64_t world) {
  TrainConfig given;
  try {
    config::load(given, sources);
  } catch (const Error&) {
    return plan_run(sources, world).config;  // throws with all problems at once
  }
  return given.resume_dir().empty() ? given : plan_run(sources, world).config;
}

}  // namespace

TrainerParts open_run(const RunPlan& plan) {
  const dist::Slice slice = apply_settings(plan.config);
  return build(plan, prepare_inputs(plan), slice, dist::join_group({}, {}));
}

RunResult run(const config::Sources& sources) {
  install_interrupt_handlers();
  const dist::Launch launch = dist::launch_of_process();
  const TrainConfig given = peek_config(sources, launch.world);
  if (launch.world > 1 && given.parallel.strategy == "none") {
    plan_run(sources, launch.world);  // says what is wrong
  }
  const auto group = join_ranks(launch, given.parallel.strategy, given.dist.timeout_s);
  return with_ranks(*group, [&] { return run_together(sources, group); });
}

}  // namespace flexor::train
