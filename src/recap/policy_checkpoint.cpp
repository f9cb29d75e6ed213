#include "recap/policy_checkpoint.h"

#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "train/checkpoint.h"

namespace flexor::recap {
namespace {

/// What sampling with guidance needs to know of a policy: flexor_recap.json in its folder.
Json guidance_json(const PolicyStep& step, const PolicyFacts& facts) {
  const OpenpiSection& openpi = step.actor.model.openpi;
  return Json::object({{"positive_only_conditional", openpi.positive_only_conditional},
                       {"unconditional_prob", openpi.unconditional_prob},
                       {"guidance_scale", openpi.cfgrl_guidance_scale},
                       {"guidance_type", openpi.guidance_type},
                       {"config_name", openpi.config_name},
                       {"advantage_tag", facts.advantage_tag},
                       {"norm_stats", facts.stats_source},
                       {"norm_stats_sha256", facts.stats_hash}});
}

Json state_json(const PolicyFacts& facts, const train::LoopState& state, const BestValue& best) {
  Json json = Json::object({{"step", state.progress.step},
                            {"world", state.world},
                            {"advantage_tag", facts.advantage_tag},
                            {"labels_sha256", facts.labels_hash},
                            {"norm_stats", facts.stats_source},
                            {"norm_stats_sha256", facts.stats_hash}});
  add_validation_due(json, state.progress);
  add_best(json, best);
  return json;
}

void refuse_other(const Json& stored, const char* key, const std::string& now, const std::string& what,
                  const std::string& where) {
  if (stored.at(key).as_string() != now) {
    throw Error(ErrorKind::kData, what + " are not those that the run was started with", where,
                "restore them, or start a new run in another output_dir");
  }
}

}  // namespace

std::string PolicyRun::best() const {
  if (const auto found = best_or_last()) {
    return *found;
  }
  throw Error(ErrorKind::kFile, "no checkpoint of a RECAP policy", checkpoints(), "flexor recap policy --config FILE");
}

std::string save_policy(const PolicyRun& run, const PolicyStep& step, const PolicyInputs& inputs,
                        const PolicyFacts& facts, models::PolicyModel& model, const train::LoopState& state,
                        const BestValue& best) {
  const Json no_lerobot_run;
  const int64_t world = state.world;
  const train::CheckpointParts parts{
      .config = inputs.plan.config,
      .policy = inputs.policy,
      .model = model,
      .optimizer = state.optimizer,
      .peak_lr = step.actor.optim.lr,
      .next_lr = state.next_lr,
      .ema = state.ema,
      .processor = inputs.processor.get(),
      .processor_source = {},
      .lerobot_config = no_lerobot_run,
      .progress = state.progress,
      .position = {.data = {inputs.data.mixture->num_frames(), inputs.data.mixture->num_episodes()}},
      .world = world};
  const auto fill = [&](const std::string& folder) {
    train::write_checkpoint(parts, folder);
    for (const char* policy : {"/pretrained_model", "/pretrained_model_ema"}) {
      if (std::filesystem::exists(folder + policy)) {
        write_file_atomic(folder + policy + "/flexor_recap.json", guidance_json(step, facts).dump(2));
      }
    }
    write_file_atomic(run.state_file(folder), state_json(facts, state, best).dump(2));
  };
  return run.save(state.progress.step, fill, best);
}

train::Progress load_policy_state(const PolicyRun& run, const PolicyInputs& inputs, PolicyFacts& facts,
                                  models::PolicyModel& model, optim::AdamW& optimizer, optim::Ema* ema,
                                  BestValue& best) {
  const train::CheckpointRef& checkpoint = *inputs.plan.checkpoint;
  const std::string path = run.state_file(checkpoint.folder);
  const Json stored = read_state(path);
  refuse_other(stored, "labels_sha256", facts.labels_hash, "the labels", path);
  refuse_other(stored, "norm_stats_sha256", facts.stats_hash, "the statistics of state and action", path);
  facts.stats_source = stored.at("norm_stats").as_string();
  best = best_of(stored);
  train::Progress progress = train::load_checkpoint(checkpoint, model, optimizer, ema, /*is_lora=*/false);
  progress.validation_due = validation_due_of(stored);
  return progress;
}

}  // namespace flexor::recap
