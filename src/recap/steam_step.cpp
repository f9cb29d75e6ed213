#include "recap/steam_step.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "config/print.h"
#include "device/device.h"
#include "dist/choose_device.h"
#include "models/steam_model.h"
#include "nn/named_params.h"
#include "recap/ranks.h"
#include "recap/schedule.h"
#include "recap/steam_task.h"
#include "recap/training_setup.h"
#include "recap/value_checkpoint.h"
#include "recap/value_setup.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"
#include "train/ranks.h"
#include "train/trainer.h"

namespace flexor::recap {
namespace {

constexpr uint64_t kBackboneStream = 11;

models::SteamConfig steam_config(const ValueStep& step) {
  const ValueModelSection& model = step.actor.model;
  const SteamSection& steam = step.actor.steam;
  models::SteamConfig config{.ensemble_size = steam.ensemble_size,
                             .architecture = value_config(model).architecture,
                             .k = steam.k,
                             .num_bins = steam.num_bins,
                             .projection_dim = steam.projection_dim,
                             .dropout = steam.dropout,
                             .max_token_len = model.max_token_len,
                             .robot_type = step.data.robot_type};
  if (!model.siglip_path.empty()) {
    models::read_picture_scale(model.siglip_path, config);
  }
  return config;
}

std::shared_ptr<models::SteamEnsemble> build_ensemble(const ValueStep& step, const std::string& checkpoint) {
  const ValueModelSection& section = step.actor.model;
  const models::ValueOptions options{.autocast = section.precision == "bf16",
                                     .gradient_checkpointing = step.actor.fsdp_config.gradient_checkpointing};
  std::shared_ptr<models::SteamEnsemble> ensemble;
  if (!checkpoint.empty()) {
    ensemble = models::open_steam(checkpoint, options);
  } else {
    if ((section.siglip_path.empty() || section.gemma3_path.empty()) && !section.architecture) {
      throw Error(ErrorKind::kConfig, "nothing says where the backbone's weights are from", "value.actor.model",
                  "siglip_path and gemma3_path; a small model from scratch needs architecture");
    }
    ensemble = std::make_shared<models::SteamEnsemble>(steam_config(step), options);
    at::Generator backbone = make_generator(stream_seed(static_cast<uint64_t>(step.actor.seed), kBackboneStream));
    models::init_steam(*ensemble, backbone, static_cast<uint64_t>(step.actor.steam.ensemble_head_seed_base));
    models::load_steam_backbone(*ensemble, section.siglip_path, section.gemma3_path);
  }
  models::set_trainable(*ensemble, section.freeze_vision_encoder, section.freeze_vlm);
  nn::move_params(*ensemble, device::current());
  return ensemble;
}

/// The loop's step trains one member; the configuration counts steps of the whole ensemble.
train::LoopConfig member_loop(const ValueStep& step, const ValueRun& run, int64_t steps, int64_t accumulation) {
  const int64_t E = step.actor.steam.ensemble_size;
  train::LoopConfig config = loop_config(step.runner, run, steps * E, accumulation);
  config.log_freq *= E;
  config.eval_freq *= E;
  config.save_freq *= E;
  return config;
}

std::unique_ptr<optim::AdamW> make_optimizer(const ValueStep& step, models::SteamEnsemble& ensemble,
                                             train::ParallelContext& parallel) {
  auto optimizer = parallel.make_optimizer(train::parts_of(ensemble), adamw_config(step.actor.optim),
                                           micro_batches(step.actor, parallel.world()));
  for (optim::Slot& slot : optimizer->slots()) {
    const bool is_backbone =
        slot.name.find(".vision_tower.") != std::string::npos || slot.name.find(".gemma3.") != std::string::npos;
    slot.group = is_backbone ? 0 : 1;
  }
  return optimizer;
}

Json shape_of(const models::SteamConfig& config) {
  Json json = models::to_json(config);
  json.erase("ensemble_size");
  return json;
}

}  // namespace

ValueReport train_steam(const RecapConfig& config, const std::shared_ptr<dist::Group>& group) {
  const ValueStep& step = config.value;
  dist::choose_device(config.device);
  const ValueRun run(config.output_dir);
  const std::string checkpoint = begin_training(config, Step::kValue, step, run, kFreeValueKeys, *group);
  const data::Tokenizer tokenizer =
      checkpoint.empty() ? value_tokenizer(step.actor.model) : data::Tokenizer::open(checkpoint);
  auto data = std::make_shared<const SteamData>(open_steam_data(step));
  const std::shared_ptr<models::SteamEnsemble> ensemble = build_ensemble(step, checkpoint);
  data::check_vocabulary(tokenizer, ensemble->config().architecture.gemma3.vocab_size);

  train::TrainerParts parts;
  parts.parallel = train::make_context(step.actor.fsdp_config.sharding_strategy, group);
  parts.optimizer = make_optimizer(step, *ensemble, *parts.parallel);
  const BestValue best = start_value_state(parts, checkpoint);
  const RecapSchedule schedule(step.actor.optim, {step.actor.optim.lr, step.actor.optim.value_lr});
  const int64_t E = ensemble->config().ensemble_size;
  parts.learning_rates = [schedule, E](int64_t s) { return schedule.rates(s / E); };
  auto task =
      std::make_unique<SteamTask>(step, run, std::move(data), ensemble, tokenizer, group, parts.progress.step, best);
  SteamTask& steam_task = *task;
  const int64_t steps = total_steps(step.runner, std::max<int64_t>(1, task->steps_per_epoch() / E));
  parts.config = member_loop(step, run, steps, micro_batches(step.actor, group->world()));
  parts.task = std::move(task);
  log_info("ensemble ready", {{"members", E},
                              {"parameters", nn::count_params(*ensemble)},
                              {"steps", steps},
                              {"accumulation", parts.config.accumulation}});

  const auto lock = start_folder(run, config::print(step), !checkpoint.empty(), *group);
  train::Trainer trainer(std::move(parts));
  const train::Closing closing = trainer.run();
  if (!group->is_main()) {
    return TrainingReport::of_helper();
  }
  ValueReport report = report_of(trainer, closing, run, run.best(), steam_task.best(), steam_task.last_validation());
  report.steps /= E;
  return report;
}

std::string merge_steam(const std::vector<std::string>& folders, const config::Sources& sources) {
  std::string output_dir;
  config::FieldTable table;
  table("output_dir", output_dir, "folder of the merged ensemble").required();
  config::bind(table, sources);
  std::vector<std::unique_ptr<models::SteamEnsemble>> parts;
  models::SteamConfig merged;
  for (const std::string& folder : folders) {
    parts.push_back(models::open_steam(folder));
    const models::SteamConfig& part = parts.back()->config();
    if (parts.size() == 1) {
      merged = part;
    } else if (!(shape_of(part) == shape_of(merged))) {
      throw Error(ErrorKind::kCheckpoint, "it is another kind of ensemble than the first one", folder,
                  "members that are joined need the same sizes, bins and cameras");
    } else {
      merged.ensemble_size += part.ensemble_size;
    }
  }
  models::SteamEnsemble ensemble(merged);
  size_t next = 0;
  for (const auto& part : parts) {
    for (models::SteamMember& member : part->members()) {
      ensemble.members()[next++] = std::move(member);
    }
  }
  const ValueRun run(output_dir);
  if (run.newest() || std::filesystem::exists(run.checkpoint(0))) {
    throw Error(ErrorKind::kFile, "there is a run already", run.folder(), "give another output_dir");
  }
  const std::string target = run.checkpoint(0);
  StagedFolder staged(target);
  models::save_steam_weights(ensemble, staged.path() + "/model.safetensors");
  write_file_atomic(staged.path() + "/config.json", models::to_json(merged).dump(2));
  data::Tokenizer::open(folders.front()).save(staged.path());
  staged.commit();
  run.point("last", "global_step_0");
  run.point("best", "global_step_0");
  return target;
}

}  // namespace flexor::recap
