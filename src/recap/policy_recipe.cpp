#include "recap/policy_recipe.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "data/processor.h"
#include "models/weights.h"
#include "recap/camera_slots.h"
#include "recap/training_setup.h"
#include "recap/value_task.h"
#include "schema/openpi_policy.h"
#include "tensor/tensor.h"
#include "tensor/torch_file.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModelKey = "policy.actor.model";

/// "bfloat16" if any tensor of the file is, else "float32".
std::string dtype_of(const std::string& file) {
  const std::vector<NamedTensor> tensors = read_tensor_file(file);
  const bool is_bf16 =
      std::ranges::any_of(tensors, [](const NamedTensor& t) { return t.second.scalar_type() == at::kBFloat16; });
  return is_bf16 ? "bfloat16" : "float32";
}

/// openpi's three cameras.
void add_slots(schema::PolicyConfig& policy) {
  for (const std::string_view slot : kSlots) {
    policy.input_features.push_back({str_cat(schema::kImagePrefix, slot),
                                     schema::FeatureType::kVisual,
                                     {3, policy.image_resolution[0], policy.image_resolution[1]}});
  }
}

schema::PolicyConfig described_policy(const PolicyModelSection& section, const std::string& type) {
  schema::PolicyConfig policy = schema::default_policy_config(type);
  if (section.architecture) {
    policy.architecture = section.architecture;
    policy.image_resolution = section.image_resolution;
  }
  return policy;
}

schema::PolicyConfig stored_policy(const PolicyModelSection& section, const PolicyPreset& preset) {
  const std::string& path = section.model_path;
  if (path.empty() && !section.architecture) {
    throw Error(ErrorKind::kConfig, "nothing says which policy to start from", str_cat(kModelKey, ".model_path"),
                "model_path=DIR; a small policy from scratch needs architecture");
  }
  if (path.empty()) {
    return described_policy(section, preset.type.empty() ? "pi05" : preset.type);
  }
  if (!fs::exists(path)) {
    throw Error(
        ErrorKind::kFile, "no such policy", path,
        "policy.actor.model.model_path=DIR; a policy of `flexor train` is RUN/checkpoints/last/pretrained_model");
  }
  if (!has_plain_weights(path)) {
    return schema::read_policy_config(path);
  }
  if (preset.type.empty()) {
    throw Error(ErrorKind::kConfig, "full_weights.pt does not say which policy it is, found openpi.config_name=auto",
                str_cat(kModelKey, ".openpi.config_name"), "config_name: pi05_libero, pi0_libero, pi05 or pi0");
  }
  schema::PolicyConfig policy = described_policy(section, preset.type);
  policy.dtype = dtype_of(models::weights_file(path));
  add_slots(policy);
  return policy;
}

void apply_preset(schema::PolicyConfig& policy, const PolicyModelSection& section, const PolicyPreset& preset) {
  if (!preset.type.empty() && policy.type != preset.type) {
    throw Error(ErrorKind::kConfig,
                str_cat("openpi.config_name is ", section.openpi.config_name, ", the policy is ", policy.type),
                section.model_path, "openpi.config_name=auto takes the policy as it is");
  }
  policy.chunk_size = section.action_horizon.value_or(preset.action_horizon.value_or(policy.chunk_size));
  policy.n_action_steps = std::min(section.num_action_chunks, policy.chunk_size);
  policy.num_inference_steps = section.num_steps;
  policy.tokenizer_max_length = section.max_token_len.value_or(policy.tokenizer_max_length);
  if (preset.norm) {
    policy.normalization_mapping[schema::FeatureType::kState] = *preset.norm;
    policy.normalization_mapping[schema::FeatureType::kAction] = *preset.norm;
  }
  if (preset.relative_dims) {
    policy.use_relative_actions = *preset.relative_dims > 0;
  }
  policy.use_relative_actions = section.use_relative_actions.value_or(policy.use_relative_actions);
}

}  // namespace

PolicyPreset policy_preset(std::string_view config_name) {
  using schema::NormMode;
  PolicyPreset preset;
  if (config_name == "auto") {
    return preset;
  }
  const bool is_pi05 = config_name.starts_with("pi05");
  preset.type = is_pi05 ? "pi05" : "pi0";
  preset.norm = is_pi05 ? NormMode::kQuantiles : NormMode::kMeanStd;
  if (is_pi05) {
    preset.state_in_prompt = true;
  }
  if (config_name.ends_with("_libero")) {
    preset.action_horizon = is_pi05 ? 10 : 50;
    preset.state_in_prompt = false;
    preset.relative_dims = is_pi05 ? 0 : 6;
  }
  return preset;
}

schema::PolicyConfig starting_policy(const PolicyStep& step) {
  const PolicyModelSection& section = step.actor.model;
  const PolicyPreset preset = policy_preset(section.openpi.config_name);
  schema::PolicyConfig policy = stored_policy(section, preset);
  apply_preset(policy, section, preset);
  policy.device = "cpu";
  policy.train_expert_only = section.openpi.train_expert_only;
  policy.gradient_checkpointing = step.actor.fsdp_config.gradient_checkpointing;
  if (!section.precision.empty()) {
    policy.dtype = section.precision == "bf16" ? "bfloat16" : "float32";
  }
  return policy;
}

bool has_plain_weights(const std::string& model_path) {
  return !fs::exists(fs::path(model_path) / "config.json") && is_torch_file(models::weights_file(model_path));
}

data::PromptStyle prompt_style(const PolicyModelSection& section, const schema::PolicyConfig& policy) {
  const PolicyPreset preset = policy_preset(section.openpi.config_name);
  if (policy.is_pi05() && preset.state_in_prompt) {
    return *preset.state_in_prompt ? data::PromptStyle::kState : data::PromptStyle::kNewline;
  }
  if (!section.model_path.empty() && data::has_processor(section.model_path)) {
    return data::read_processor(section.model_path, policy).prompt;
  }
  return policy.is_pi05() ? data::PromptStyle::kState : data::PromptStyle::kNewline;
}

void set_relative_dims(schema::PolicyConfig& policy, const PolicyPreset& preset) {
  if (!policy.use_relative_actions || preset.relative_dims.value_or(0) == 0) {
    return;
  }
  std::vector<std::string> names, absolute;  // names that are no part of each other: they are looked for as such
  for (int64_t d = 0; d < policy.action_dim(); ++d) {
    const std::string digits = std::to_string(d);
    names.push_back("dim_" + std::string(3 - std::min<size_t>(3, digits.size()), '0') + digits);
    if (d >= *preset.relative_dims) {
      absolute.push_back(names.back());
    }
  }
  policy.action_feature_names = names;
  policy.relative_exclude_joints = absolute;
}

train::TrainConfig policy_train_config(const RecapConfig& config, const schema::PolicyConfig& policy,
                                       const PolicyData& data) {
  const PolicyStep& step = config.policy;
  const PolicyModelSection& section = step.actor.model;
  train::TrainConfig run;
  for (const PolicyDataset& dataset : data.train) {
    run.dataset.mix.push_back({dataset.root, dataset.weight});
  }
  run.dataset.image_transforms = step.data.do_augment ? "openpi" : "none";
  run.rename_map = data.rename_map;
  run.policy.config = policy;
  run.policy.path = section.model_path;
  run.policy.tokenizer_path = section.tokenizer_path;
  run.policy.norm_stats = section.norm_stats;
  run.policy.fit_to_data = section.model_path.empty();
  run.optimizer = adamw_config(step.actor.optim);
  run.scheduler = {.type = "constant",
                   .warmup_steps = std::max<int64_t>(0, step.actor.optim.lr_warmup_steps),
                   .decay_steps = step.actor.optim.total_training_steps,
                   .decay_lr = step.actor.optim.min_lr};
  run.ema = step.actor.ema;
  run.batch_size = step.actor.micro_batch_size;
  run.global_batch_size = step.actor.global_batch_size;
  run.log_freq = step.runner.log_interval;
  run.save_freq = std::max<int64_t>(0, step.runner.save_interval);
  run.eval_freq = std::max<int64_t>(0, step.runner.val_check_interval);
  run.seed = step.actor.seed;
  run.num_workers = worker_count(step.data.train_num_workers, step.data.num_workers);
  run.prefetch = static_cast<int>(step.data.prefetch_factor);
  run.threads = config.threads;
  run.parallel.strategy = step.actor.fsdp_config.sharding_strategy;
  run.output_dir = config.output_dir + "/policy";
  train::give_preset(run);
  return run;
}

}  // namespace flexor::recap
