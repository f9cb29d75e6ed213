#include "config/field_table.h"
#include "dist/choose_device.h"
#include "recap/recap_config.h"

namespace flexor::recap {
namespace {

constexpr double kMaxCount = 1e15;

}  // namespace

void fields(config::FieldTable& table, DatasetEntry& c) {
  table("dataset_path", c.dataset_path, "folder that holds meta/info.json").required();
  table("name", c.name, "in metrics and reports; empty: the folder's name");
  table("type", c.type, "sft: demonstrations, all of them successes; rollout or eval: recorded attempts");
  table("weight", c.weight, "share of the samples in training, relative to the other weights").range(0, 1e12);
  table("robot_type", c.robot_type, "camera and column names; empty: data.robot_type");
  table("model_type", c.model_type, "empty: data.model_type");
  table("default_prompt", c.default_prompt, "where a frame has no task; empty: data.default_prompt");
  table("gamma", c.gamma, "null: data.gamma").range(0, 1);
  table("failure_reward", c.failure_reward, "null: data.failure_reward").range(-1e12, 1e12);
  table("output_path", c.output_path, "copy the dataset there first; the returns go into the copy");
  table("success_from", c.success_from,
        "outcome of an episode: column = is_success of its last row, episodes = is_success in the episodes' metadata, "
        "list = success_episodes; empty: the list if given, else the column, else the metadata");
  table("success_episodes", c.success_episodes, "episode_index of the successful ones; all others failed");
  table("return_min", c.return_min, "noted in mixture_config.yaml; data.return_min is what is computed with");
  table("return_max", c.return_max, "noted in mixture_config.yaml");
  table("episodes", c.episodes, "episode_index of those to use; null: all");
  table("max_samples", c.max_samples, "only so many first frames; null: all").range(1, kMaxCount);
  table("episode_percentage", c.episode_percentage, "only this share of the episodes, in percent").range(0, 100);
  table("shuffle_episodes", c.shuffle_episodes, "choose that share by chance instead of the first ones");
  table("episode_seed", c.episode_seed, "of that choice").range(0, 4294967295.0);
}

void fields(config::FieldTable& table, DataSection& c) {
  table("data_root", c.data_root, "prefix of relative dataset and output paths");
  table.list("train_data_paths", c.train_data_paths, "the datasets");
  table.list("eval_data_paths", c.eval_data_paths, "datasets that the value model is validated on");
  table.list("val_data_paths", c.val_data_paths, "datasets that the policy is validated on");
  table("dataset_path", c.dataset_path, "one dataset, instead of train_data_paths");
  table("output_path", c.output_path, "as that of an entry, of dataset_path");
  table("dataset_type", c.dataset_type, "of entries without type");
  table("tag", c.tag, "of the returns: meta/returns_TAG.parquet");
  table("advantage_tag", c.advantage_tag, "of the advantages that the policy trains on");
  table("gamma", c.gamma, "discount of a step").range(0, 1);
  table("failure_reward", c.failure_reward, "reward of the last step of a failed episode").range(-1e12, 1e12);
  table("return_min", c.return_min, "smallest return, which normalises; null: of the datasets' returns");
  table("return_max", c.return_max, "largest return; null: of the datasets' returns");
  table("advantage_lookahead_step", c.advantage_lookahead_step, "N: rewards of so many steps, then the value model")
      .range(1, kMaxCount);
  table("num_workers", c.num_workers, "threads that read; null: one per core").range(0, 1024);
  table("train_num_workers", c.train_num_workers, "null: num_workers").range(0, 1024);
  table("eval_num_workers", c.eval_num_workers, "null: num_workers").range(0, 1024);
  table("prefetch_factor", c.prefetch_factor, "batches read ahead per thread").range(1, 1024);
  table("action_horizon", c.action_horizon, "steps of an action chunk").range(1, 1e6);
  table("action_dim", c.action_dim, "real dimensions of an action").range(1, 1e6);
  table("normalize_to_minus_one_zero", c.normalize_to_minus_one_zero,
        "targets G / |return_min|; false: (G - min) / (max - min)");
  table("do_augment", c.do_augment, "augment the pictures in training");
  table("robot_type", c.robot_type, "camera and column names: libero, libero_v2, franka, franka_co_train, or auto");
  table("model_type", c.model_type, "family of the policy").choices({"pi0", "pi05", "pi0_fast"});
  table("default_prompt", c.default_prompt, "where a frame has no task");
  table("rename_map", c.rename_map,
        "policy: recorded feature name -> the policy's; empty: actions, state and the cameras of robot_type are found");
  table("balance_weights", c.balance_weights, "value: weights are multiplied with the datasets' lengths");
  table("balance_dataset_weights", c.balance_dataset_weights, "policy: the same");
  table("seed", c.seed, "of the mixture of datasets").range(0, 4294967295.0);
}

void fields(config::FieldTable& table, RunnerSection& c) {
  table("max_epochs", c.max_epochs, "passes over the data; 0 or less: no limit").range(-1, kMaxCount);
  table("max_steps", c.max_steps, "optimizer steps; negative: no limit").range(-1, kMaxCount);
  table("val_check_interval", c.val_check_interval, "steps between validations; 0 or less: none").range(-1, kMaxCount);
  table("save_interval", c.save_interval, "steps between checkpoints; 0 or less: only the final one")
      .range(-1, kMaxCount);
  table("log_interval", c.log_interval, "steps between log lines; 0: none").range(0, kMaxCount);
  table("resume_dir", c.resume_dir, "checkpoint to continue from: .../global_step_N; auto: the newest of the run");
}

void fields(config::FieldTable& table, OptimSection& c) {
  table("lr", c.lr, "peak learning rate").range(0, 1e3);
  table("value_lr", c.value_lr, "the same for the value head").range(0, 1e3);
  table("adam_beta1", c.adam_beta1, "decay of the first moment").range(0, 1);
  table("adam_beta2", c.adam_beta2, "decay of the second moment").range(0, 1);
  table("adam_eps", c.adam_eps, "added to the root of the second moment").range(0, 1);
  table("weight_decay", c.weight_decay, "decoupled").range(0, 1e3);
  table("clip_grad", c.clip_grad, "largest global L2 norm of the gradient").range(0, 1e12);
  table("lr_scheduler", c.lr_scheduler, "learning rate over the steps")
      .choices({"constant", "cosine", "openpi_cosine", "ref_warmup_cosine", "torch_constant", "torch_cosine"});
  table("lr_warmup_steps", c.lr_warmup_steps, "negative: lr_warmup_steps_ratio * total_training_steps")
      .range(-1, kMaxCount);
  table("lr_warmup_steps_ratio", c.lr_warmup_steps_ratio, "used with negative lr_warmup_steps").range(0, 1);
  table("total_training_steps", c.total_training_steps, "where the schedule ends").range(1, kMaxCount);
  table("min_lr", c.min_lr, "learning rate at the end").range(0, 1e3);
  table("min_lr_rate", c.min_lr_rate, "the same as a share of lr, instead of min_lr").range(0, 1);
  table("num_cycles", c.num_cycles, "cosine: waves until the end").range(0, 1e6);
  table("compat", c.compat,
        "fixed: min_lr refers to lr, and nothing changes after the end; reference: the schedules of RLinf to the digit")
      .choices({"fixed", "reference"});
}

void fields(config::FieldTable& table, FsdpSection& c) {
  table("strategy", c.strategy, "accepted for scripts").choices({"fsdp", "fsdp2"});
  table("sharding_strategy", c.sharding_strategy, "how ranks share a training, as parallel.strategy of flexor train")
      .choices({"no_shard", "shard_grad_op", "full_shard", "hybrid_shard", "ddp", "zero1", "zero2", "zero3", "hybrid"});
  table("use_orig_params", c.use_orig_params, "accepted for scripts");
  table("gradient_checkpointing", c.gradient_checkpointing, "compute activations twice instead of keeping them");
}

void fields(config::FieldTable& table, RecapConfig& c) {
  table("output_dir", c.output_dir, "folder of the run: checkpoints, metrics, report");
  table("tag", c.tag,
        "of returns and advantages: fills data.tag, advantage.returns_tag, advantage.tag, "
        "data.advantage_tag");
  dist::add_device_key(table, c.device);
  table("threads", c.threads, "threads of one tensor operation; 0: all cores").range(0, 4096);
  table.section("dist", c.dist, "communication");
  table.section("data", c.data, "shared: fills what a step's own data does not give");
  table.section("returns", c.returns, "step 1: returns of every frame");
  table.section("value", c.value, "step 2: the value model");
  table.section("advantages", c.advantages, "step 3: advantages and labels");
  table.section("policy", c.policy, "step 4: the policy, conditioned on the label");
}

void fields(config::FieldTable& table, ReturnsStep& c) {
  table.section("data", c.data, "as the shared data");
}
void fields(config::FieldTable& table, ValueStep& c) {
  table.section("data", c.data, "as the shared data");
  table.section("runner", c.runner, "length of the run");
  table.section("actor", c.actor, "model and optimizer");
}
void fields(config::FieldTable& table, AdvantagesStep& c) {
  table.section("data", c.data, "as the shared data");
  table.section("advantage", c.advantage, "values and labels");
}
void fields(config::FieldTable& table, PolicyStep& c) {
  table.section("data", c.data, "as the shared data");
  table.section("runner", c.runner, "length of the run");
  table.section("actor", c.actor, "model and optimizer");
}

}  // namespace flexor::recap
