#include "train/train_config.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/str_cat.h"
#include "config/field_table.h"
#include "config/recipe_path.h"
#include "dist/choose_device.h"
#include "schema/openpi_policy.h"
#include "tensor/safetensors.h"

namespace flexor::train {

constexpr double kMaxCount = 1e15;

void fields(config::FieldTable& table, MixEntry& entry) {
  table("root", entry.root, "folder that holds meta/info.json").required();
  table("weight", entry.weight, "share of the samples, relative to the other weights").range(0, 1e12);
}

void fields(config::FieldTable& table, DatasetSection& c) {
  table("root", c.root, "folder of a LeRobot dataset, the one that holds meta/info.json");
  table.list("mix", c.mix, "several datasets with weights, instead of root");
  table("episodes", c.episodes, "episodes to use; null: all").range(0, kMaxCount);
  table("eval_split", c.eval_split, "share of each task's last episodes that is held out for validation")
      .range(0, 0.999);
  table("resize", c.resize, "uint8: rounded after resizing; float: LeRobot's arithmetic").choices({"uint8", "float"});
  table(
      "cache", c.cache,
      "decoded pictures of `flexor dataset cache`: auto = used when there and fresh, off, or the path of a cache or of "
      "a folder with some");
  table("image_transforms", c.image_transforms, "augmentation of the pictures").choices({"none", "openpi", "lerobot"});
}

void fields(config::FieldTable& table, PolicySection& c) {
  table("path", c.path, "policy folder to fine-tune; empty: train from scratch");
  table("allow_partial", c.allow_partial, "accept a checkpoint with missing or unused tensors");
  table("vlm_path", c.vlm_path,
        "Hugging Face PaliGemma folder that initialises the language model and the vision tower");
  table("tokenizer_path", c.tokenizer_path, "tokenizer file or folder; empty: the one beside policy.path");
  table("norm_stats", c.norm_stats, "openpi's norm_stats.json; beats the dataset's statistics");
  table("rope_frequencies", c.rope_frequencies,
        "bfloat16 only: reference = rounded to bfloat16 as LeRobot and openpi do, exact = as the original JAX model")
      .choices({"reference", "exact"});
  table(
      "fit_to_data", c.fit_to_data,
      "from scratch: max_state_dim, max_action_dim, tokenizer_max_length and the vocabulary become as large as needed");
  schema::fields(table, c.config);
}

void fields(config::FieldTable& table, LoraSection& c) {
  table("enable", c.enable, "train low-rank adapters; checkpoints hold the merged weights");
  table("style", c.style, "which layers are adapted and what stays trainable").choices({"lerobot", "openpi"});
  table("r", c.r, "rank; null: the style's").range(1, 65536);
  table("alpha", c.alpha, "scale times rank; null: the style's").range(0, 1e9);
  table("targets", c.targets, "layers by the end of their name; empty: the style's");
}

void fields(config::FieldTable& table, AttentionSection& c) {
  table("impl", c.impl, "fused, or exact: the explicit softmax of the reference").choices({"fused", "exact"});
}
void fields(config::FieldTable& table, LogSection& c) {
  table("style", c.style, "lerobot: the log line exactly as LeRobot prints it").choices({"flexor", "lerobot"});
}
void fields(config::FieldTable& table, ParallelSection& c) {
  table("strategy", c.strategy,
        "how ranks share the work: ddp (no_shard): each has the whole model; divided among the ranks: zero1: optimizer "
        "state, zero2 (shard_grad_op): gradients too, zero3 (full_shard): weights too; hybrid (hybrid_shard): zero3 "
        "inside a node, ddp across")
      .choices({"none", "ddp", "no_shard", "zero1", "zero2", "shard_grad_op", "zero3", "full_shard", "hybrid",
                "hybrid_shard"});
}
void fields(config::FieldTable& table, RuntimeSection& c) {
  table("bind", c.bind,
        "binding to processors: coarse = each rank keeps to its share of the cores, by NUMA node; fine = decoding has "
        "cores of its own in it, too")
      .choices({"none", "coarse", "fine"});
}
void fields(config::FieldTable& table, DistSection& c) {
  table("timeout_s", c.timeout_s, "seconds after which a rank that does not answer is an error").range(1, 1e6);
}

namespace {

void run_fields(config::FieldTable& table, TrainConfig& c) {
  table("batch_size", c.batch_size, "samples per rank and micro step").range(1, 1e6);
  table("global_batch_size", c.global_batch_size,
        "samples per step over all ranks; gradients are accumulated to reach it; null: batch_size * ranks")
      .range(1, 1e9);
  table("steps", c.steps, "optimizer steps of the run").range(1, kMaxCount);
  table("log_freq", c.log_freq, "steps between log lines; 0: none").range(0, kMaxCount);
  table("save_freq", c.save_freq, "steps between checkpoints; 0: only the final one").range(0, kMaxCount);
  table("eval_freq", c.eval_freq, "steps between losses on the held-out episodes; 0: never").range(0, kMaxCount);
  table("max_eval_samples", c.max_eval_samples, "held-out frames to evaluate, evenly spaced; 0: all")
      .range(0, kMaxCount);
  table("seed", c.seed, "of everything that is drawn: order, noise, times, initial weights").range(0, 4294967295.0);
  table("num_workers", c.num_workers, "threads that decode").range(0, 1024);
  table("prefetch", c.prefetch, "batches read ahead per worker").range(1, 1024);
  table("threads", c.threads, "threads of one tensor operation; 0: all cores").range(0, 4096);
  dist::add_device_key(table, c.device);
  table("deterministic", c.deterministic, "refuse operations whose result depends on timing");
  table("rm_dropout", c.rm_dropout, "accepted for scripts: these policies have no dropout");
  table("output_dir", c.output_dir, "folder of the run");
  table("resume", c.resume, "true: continue output_dir; auto: the same, for launchers; or the folder of a run");
  table("batch_file", c.batch_file, "repeats this model-side batch instead of a dataset");
}

}  // namespace

void fields(config::FieldTable& table, TrainConfig& c) {
  table.section("dataset", c.dataset, "what is trained on");
  table("rename_map", c.rename_map, "recorded feature name -> the policy's name");
  table.section("policy", c.policy, "what is trained; every field of LeRobot's config.json is a key here");
  table.section("optimizer", c.optimizer, "AdamW");
  table.section("scheduler", c.scheduler, "learning rate over the steps");
  table.section("ema", c.ema, "moving average of the weights");
  table.section("lora", c.lora, "low-rank adapters");
  table.section("attention", c.attention, "attention kernel");
  run_fields(table, c);
  table.section("log", c.log, "log lines");
  table.section("parallel", c.parallel, "ranks");
  table.section("runtime", c.runtime, "placement");
  table.section("dist", c.dist, "communication");
  for (const char* key : {"lr", "betas", "eps", "weight_decay", "grad_clip_norm"}) {
    table.alias(str_cat("policy.optimizer_", key), str_cat("optimizer.", key));
  }
  for (const char* key : {"warmup_steps", "decay_steps", "decay_lr"}) {
    table.alias(str_cat("policy.scheduler_", key), str_cat("scheduler.", key));
  }
}

namespace {

class Rules {
 public:
  void require(bool holds, const std::string& key, const std::string& what, const std::string& hint = {}) {
    if (!holds) {
      findings.push_back({key, str_cat("'", key, "': ", what), "", hint});
    }
  }
  std::vector<config::Finding> findings;
};

void check_sources(const TrainConfig& c, Rules& rules) {
  const bool from_data = c.batch_file.empty();
  const bool has_root = !c.dataset.root.empty(), has_mix = !c.dataset.mix.empty();
  rules.require(!from_data || has_root || has_mix, "dataset.root", "expected the folder of a dataset, found none",
                "dataset.root=DIR, dataset.mix, or batch_file=FILE");
  rules.require(!(has_root && has_mix), "dataset.mix", "dataset.root and dataset.mix exclude each other");
  rules.require(from_data || (!has_root && !has_mix), "batch_file", "batch_file and a dataset exclude each other");
  rules.require(!(has_mix && c.dataset.episodes), "dataset.episodes",
                "episodes select from one dataset, found dataset.mix");
  for (const MixEntry& entry : c.dataset.mix) {
    rules.require(entry.weight > 0, "dataset.mix",
                  str_cat("expected a weight above 0 for ", entry.root, ", found ", entry.weight));
  }
  const bool is_cache_given = c.dataset.cache != "auto" && c.dataset.cache != "off";
  rules.require(!is_cache_given || c.dataset.resize != "float", "dataset.cache",
                "a frame cache holds uint8 pictures, found dataset.resize=float", "dataset.cache=off, or resize=uint8");
  rules.require(!is_cache_given || c.dataset.image_transforms != "lerobot", "dataset.cache",
                "a frame cache holds resized pictures, dataset.image_transforms=lerobot changes them before resizing",
                "dataset.cache=off");
  rules.require(!from_data || c.eval_freq == 0 || c.dataset.eval_split > 0, "eval_freq",
                str_cat("expected 0 without held-out episodes, found ", c.eval_freq),
                "set dataset.eval_split, or eval_freq=0");
  rules.require(from_data || c.eval_freq == 0, "eval_freq", "a batch_file has no held-out episodes", "eval_freq=0");
}

void check_policy(const TrainConfig& c, Rules& rules) {
  const PolicySection& p = c.policy;
  rules.require(p.path.empty() || p.vlm_path.empty(), "policy.vlm_path",
                "policy.path already holds the language model");
  rules.require(!p.fit_to_data || p.path.empty(), "policy.fit_to_data", "the sizes of policy.path are given",
                "policy.fit_to_data=false");
  rules.require(!(c.lora.enable && c.ema.enable), "ema.enable",
                "a moving average of low-rank adapters is not supported", "ema.enable=false");
  rules.require(
      !(c.lora.enable && (p.config.freeze_vision_encoder || p.config.train_expert_only)), "lora.enable",
      "the LoRA style decides what is frozen, found policy.freeze_vision_encoder or policy.train_expert_only");
}

}  // namespace

std::vector<config::Finding> check(const TrainConfig& c, int64_t world) {
  Rules rules;
  check_sources(c, rules);
  check_policy(c, rules);
  for (config::Finding& finding : schema::check(c.policy.config, "policy.")) {
    rules.findings.push_back(std::move(finding));
  }
  const int64_t unit = c.batch_size * world;
  rules.require(
      !c.global_batch_size || *c.global_batch_size % unit == 0, "global_batch_size",
      str_cat("expected a multiple of batch_size * ranks = ", unit, ", found ", c.global_batch_size.value_or(0)));
  rules.require(!c.output_dir.empty() || !c.resume_dir().empty(), "output_dir",
                "expected a folder for the run, found none", "output_dir=DIR");
  rules.require(world == 1 || c.parallel.strategy != "none", "parallel.strategy",
                str_cat("none is for a single rank, found ", world, " ranks"), "parallel.strategy=ddp, or one rank");
  return std::move(rules.findings);
}

int64_t accumulation(const TrainConfig& config, int64_t world) {
  return config.global_batch_size ? *config.global_batch_size / (config.batch_size * world) : 1;
}

void give_preset(TrainConfig& c) {
  schema::PolicyConfig& p = c.policy.config;
  p.optimizer_lr = c.optimizer.lr;
  p.optimizer_betas = c.optimizer.betas;
  p.optimizer_eps = c.optimizer.eps;
  p.optimizer_weight_decay = c.optimizer.weight_decay;
  p.optimizer_grad_clip_norm = c.optimizer.grad_clip_norm;
  p.scheduler_warmup_steps = c.scheduler.warmup_steps;
  p.scheduler_decay_steps = c.scheduler.decay_steps;
  p.scheduler_decay_lr = c.scheduler.decay_lr;
}

namespace {

/// The policy's preset of optimizer and schedule.
void take_preset(TrainConfig& c) {
  const schema::PolicyConfig& p = c.policy.config;
  c.optimizer.lr = p.optimizer_lr;
  c.optimizer.betas = p.optimizer_betas;
  c.optimizer.eps = p.optimizer_eps;
  c.optimizer.weight_decay = p.optimizer_weight_decay;
  c.optimizer.grad_clip_norm = p.optimizer_grad_clip_norm;
  c.scheduler.warmup_steps = p.scheduler_warmup_steps;
  c.scheduler.decay_steps = p.scheduler_decay_steps;
  c.scheduler.decay_lr = p.scheduler_decay_lr;
}

/// policy.type and policy.path as given, before anything else is decided.
PolicySection peek_policy(const config::Sources& sources, int64_t world, config::Origins& origins) {
  TrainConfig first;
  try {
    origins = config::load(first, sources);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kConfig) {  // once more, with the rules across keys: all problems at once
      TrainConfig again;
      config::load(again, sources, [&](const config::Origins&) { return check(again, world); });
    }
    throw;
  }
  return first.policy;
}

/// Batch size of a prepared batch.
int64_t samples_in(const std::string& batch_file) {
  const SafetensorsFile file = SafetensorsFile::open(batch_file);
  const SafetensorsFile::Entry* action = file.find("action");
  if (action == nullptr || action->shape.empty()) {
    throw Error(ErrorKind::kData, "training needs a tensor 'action', the file has none", batch_file);
  }
  return action->shape[0];
}

/// The policy of a run's last checkpoint, or of a checkpoint; "" if `path` is neither.
std::string policy_inside(const std::string& path) {
  for (const char* below : {"/checkpoints/last/pretrained_model", "/pretrained_model"}) {
    std::error_code code;
    if (!path.empty() && std::filesystem::is_regular_file(path + below + "/config.json", code)) {
      return path + below;
    }
  }
  return {};
}

schema::PolicyConfig given_policy(const std::string& path) {
  if (const std::string inner = policy_inside(path); !inner.empty()) {
    throw Error(ErrorKind::kConfig, "'policy.path': expected a policy, found the folder of a run or a checkpoint", path,
                "policy.path=" + inner);
  }
  return schema::read_policy_config(path);
}

}  // namespace

TrainConfig load_train_config(const config::Sources& sources, int64_t world, const TrainConfig* base) {
  TrainConfig config;
  if (base != nullptr) {
    config = *base;
  } else {
    config::Origins origins;
    const PolicySection given = peek_policy(sources, world, origins);
    const std::string type = origins.is_set("policy.type") ? given.config.type : std::string();
    if (!given.path.empty()) {
      config.policy.config = given_policy(given.path);
    } else if (!type.empty()) {
      config.policy.config = schema::default_policy_config(type);
    } else {
      throw Error(ErrorKind::kConfig, "expected policy.type (pi0, pi05) or policy.path, found neither", "policy",
                  "policy.path=DIR to fine-tune, or --config configs/pi05_tiny.yaml to train from scratch");
    }
    take_preset(config);
  }
  const std::string type = config.policy.config.type;
  config::load(config, sources, [&](const config::Origins& origins) {
    if (base == nullptr && !config.batch_file.empty() && !origins.is_set("batch_size")) {
      config.batch_size = samples_in(config.batch_file);
    }
    std::vector<config::Finding> findings = check(config, world);
    if (config.policy.config.type != type) {
      findings.push_back(
          {"policy.type", str_cat("expected ", type, " as in policy.path, found ", config.policy.config.type), "", ""});
    }
    return findings;
  });
  give_preset(config);
  config::resolve_beside_recipe(config.policy.tokenizer_path, sources);
  return config;
}

}  // namespace flexor::train
