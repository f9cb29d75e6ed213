#include "train/lerobot_train_config.h"

#include <array>
#include <vector>

#include "base/error.h"
#include "base/str_cat.h"
#include "config/field_table.h"
#include "config/load.h"

namespace flexor::train {

namespace {

/// Every key that LeRobot 0.6.1 writes, in its order; values that a run decides are null here.
constexpr const char* kTemplate = R"({
"dataset": {"repo_id": "local/dataset", "repo_type": "dataset", "root": null, "episodes": null,
 "image_transforms": {"enable": false, "max_num_transforms": 3, "random_order": false, "tfs": {
  "brightness": {"weight": 1.0, "type": "ColorJitter", "kwargs": {"brightness": [0.8, 1.2]}},
  "contrast": {"weight": 1.0, "type": "ColorJitter", "kwargs": {"contrast": [0.8, 1.2]}},
  "saturation": {"weight": 1.0, "type": "ColorJitter", "kwargs": {"saturation": [0.5, 1.5]}},
  "hue": {"weight": 1.0, "type": "ColorJitter", "kwargs": {"hue": [-0.05, 0.05]}},
  "sharpness": {"weight": 1.0, "type": "SharpnessJitter", "kwargs": {"sharpness": [0.5, 1.5]}},
  "affine": {"weight": 1.0, "type": "RandomAffine", "kwargs": {"degrees": [-5.0, 5.0], "translate": [0.05, 0.05]}}}},
 "revision": null, "use_imagenet_stats": true, "video_backend": "torchcodec", "return_uint8": false,
 "depth_output_unit": "mm", "streaming": false, "eval_split": 0.0},
"env": null, "policy": null, "reward_model": null, "output_dir": null, "job_name": null, "resume": false, "seed": 1000,
"cudnn_deterministic": false, "num_workers": 4, "batch_size": 8, "prefetch_factor": 4, "persistent_workers": true,
"dataloader_multiprocessing_context": "spawn", "steps": 100000, "env_eval_freq": 20000, "log_freq": 200,
"eval_steps": 0, "max_eval_samples": 0, "tolerance_s": 0.0001, "save_checkpoint": true, "save_freq": 20000,
"use_policy_training_preset": true,
"optimizer": {"type": "adamw", "lr": null, "weight_decay": null, "grad_clip_norm": null, "betas": null, "eps": null},
"scheduler": {"type": "cosine_decay_with_warmup", "num_warmup_steps": null, "num_decay_steps": null, "peak_lr": null,
 "decay_lr": null},
"eval": {"n_episodes": 50, "batch_size": 1, "use_async_envs": true, "recording": false, "recording_repo_id": null,
 "recording_private": false},
"wandb": {"enable": false, "disable_artifact": false, "project": "lerobot", "entity": null, "notes": null,
 "run_id": null, "mode": null, "add_tags": true},
"peft": null,
"job": {"target": null, "image": "huggingface/lerobot-gpu:latest", "timeout": "2d", "detach": false, "tags": []},
"save_checkpoint_to_hub": false, "sample_weighting": null, "rename_map": {}, "checkpoint_path": null})";

/// LeRobot resumes with `save_freq` as a divisor, so that "only at the end" is the last step.
int64_t save_steps(const TrainConfig& config) {
  return config.save_freq > 0 ? config.save_freq : config.steps;
}

void set_dataset(Json& json, const TrainConfig& config) {
  Json& dataset = json["dataset"];
  const std::string root = !config.dataset.mix.empty() ? config.dataset.mix.front().root : config.dataset.root;
  if (!root.empty()) {
    dataset["root"] = root;
  }
  dataset["episodes"] = config.dataset.episodes ? Json(*config.dataset.episodes) : Json();
  dataset["eval_split"] = config.dataset.eval_split;
  if (Json* transforms = dataset.find("image_transforms")) {
    (*transforms)["enable"] = config.dataset.image_transforms == "lerobot";
  }
}

void set_optimizer(Json& json, const TrainConfig& config) {
  Json& optimizer = json["optimizer"];
  optimizer["lr"] = config.optimizer.lr;
  optimizer["weight_decay"] = config.optimizer.weight_decay;
  optimizer["grad_clip_norm"] = config.optimizer.grad_clip_norm;
  optimizer["betas"] = Json(Json::Array{Json(config.optimizer.betas[0]), Json(config.optimizer.betas[1])});
  optimizer["eps"] = config.optimizer.eps;
  Json& scheduler = json["scheduler"];
  scheduler["num_warmup_steps"] = config.scheduler.warmup_steps;
  scheduler["num_decay_steps"] = config.scheduler.decay_steps;
  scheduler["peak_lr"] = config.optimizer.lr;
  scheduler["decay_lr"] = config.scheduler.decay_lr;
}

std::array<double, 2> read_betas(const Json& json) {
  const std::vector<double> betas = json.as_numbers();
  if (betas.size() != 2) {
    throw Error(ErrorKind::kCheckpoint, str_cat("optimizer.betas: expected 2 numbers, found ", betas.size()));
  }
  return {betas[0], betas[1]};
}

}  // namespace

Json lerobot_train_config(const TrainConfig& config, const Json& policy, const Json& before) {
  Json json = before.is_object() ? before : Json::parse(kTemplate, "template");
  set_dataset(json, config);
  set_optimizer(json, config);
  json["policy"] = policy;
  json["output_dir"] = config.output_dir;
  if (!before.is_object()) {
    json["job_name"] = config.policy.config.type;
  }
  json["seed"] = config.seed;
  json["num_workers"] = config.num_workers;
  json["batch_size"] = config.batch_size;
  json["steps"] = config.steps;
  json["log_freq"] = config.log_freq;
  json["save_freq"] = save_steps(config);
  Json renames = Json::object();
  for (const auto& [from, to] : config.rename_map) {
    renames[from] = to;
  }
  json["rename_map"] = renames;
  return json;
}

void take_lerobot_train_config(TrainConfig& config, const Json& json, const std::string& where) {
  try {
    const Json& dataset = json.at("dataset");
    dataset.as_object();
    if (const Json* root = dataset.find("root"); root != nullptr && root->is_string()) {
      config.dataset.root = root->as_string();
    }
    if (const Json* episodes = dataset.find("episodes"); episodes != nullptr && episodes->is_array()) {
      std::vector<int64_t> list;
      for (const Json& episode : episodes->as_array()) {
        list.push_back(episode.as_int());
      }
      config.dataset.episodes = list;
    }
    if (const Json* split = dataset.find("eval_split")) {
      config.dataset.eval_split = split->as_double();
    }
    const Json& optimizer = json.at("optimizer");
    config.optimizer.lr = optimizer.at("lr").as_double();
    config.optimizer.weight_decay = optimizer.at("weight_decay").as_double();
    config.optimizer.grad_clip_norm = optimizer.at("grad_clip_norm").as_double();
    config.optimizer.eps = optimizer.at("eps").as_double();
    config.optimizer.betas = read_betas(optimizer.at("betas"));
    const Json& scheduler = json.at("scheduler");
    if (scheduler.at("type").as_string() != "cosine_decay_with_warmup") {
      throw Error(ErrorKind::kCheckpoint, str_cat("schedule '", scheduler.at("type").as_string(),
                                                  "' is unknown, expected cosine_decay_with_warmup"));
    }
    config.scheduler.warmup_steps = scheduler.at("num_warmup_steps").as_int();
    config.scheduler.decay_steps = scheduler.at("num_decay_steps").as_int();
    config.scheduler.decay_lr = scheduler.at("decay_lr").as_double();
    config.batch_size = json.at("batch_size").as_int();
    config.steps = json.at("steps").as_int();
    config.log_freq = json.at("log_freq").as_int();
    config.save_freq = json.at("save_freq").as_int();
    config.seed = json.at("seed").is_null() ? config.seed : json.at("seed").as_int();
    if (const Json* renames = json.find("rename_map"); renames != nullptr && renames->is_object()) {
      for (const auto& [from, to] : renames->as_object()) {
        config.rename_map[from] = to.as_string();
      }
    }
  } catch (const Error& error) {
    throw Error(ErrorKind::kCheckpoint, error.what(), where,
                error.hint().empty() ? "copy the file from the run again, or put the value right" : error.hint());
  }
  config::FieldTable table;
  fields(table, config);
  config::bind_json(table, table.write(), where, ErrorKind::kCheckpoint);  // for the ranges of the keys
}

}  // namespace flexor::train
