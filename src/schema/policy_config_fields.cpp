// The keys of LeRobot's config.json: one table for YAML, command line and JSON.
#include "config/field_table.h"
#include "schema/policy_config.h"

namespace flexor::schema {
namespace {

constexpr double kMaxSize = 1 << 20, kMaxDepth = 1000;

/// A key that LeRobot has and Flexor only passes on, with LeRobot's default.
void pass_on(config::FieldTable& table, PolicyConfig& config, const std::string& key, const Json& default_value) {
  const auto read = [&config, key](const Json& value) { config.extra[key] = value; };
  const auto write = [&config, key, default_value] {
    const Json* value = config.extra.find(key);
    return value == nullptr ? default_value : *value;
  };
  table.custom(key, "any", read, write, "of LeRobot; kept for it, not used here").hidden();
}

void normalization_field(config::FieldTable& table, PolicyConfig& config) {
  const auto read = [&config](const Json& value) {
    std::map<FeatureType, NormMode> mapping;
    for (const auto& [type, mode] : value.as_object()) {
      mapping.emplace(feature_type_from_name(type), norm_mode_from_name(mode.as_string()));
    }
    config.normalization_mapping = std::move(mapping);
  };
  const auto write = [&config] {
    Json object = Json::object();
    for (const auto& [type, mode] : config.normalization_mapping) {
      object[feature_type_name(type)] = Json(norm_mode_name(mode));
    }
    return object;
  };
  table.custom("normalization_mapping", "map to text", read, write,
               "how VISUAL, STATE and ACTION are normalised: IDENTITY, MEAN_STD, MIN_MAX, QUANTILES or QUANTILE10",
               config::FieldSpec::Form::kMap);
}

void flow_fields(config::FieldTable& table, PolicyConfig& c) {
  table("chunk_size", c.chunk_size, "actions that the model predicts at once").range(1, kMaxSize);
  table("n_action_steps", c.n_action_steps, "actions of a chunk that a robot executes").range(1, kMaxSize);
  table("max_state_dim", c.max_state_dim, "width to which states are padded").range(1, kMaxSize);
  table("max_action_dim", c.max_action_dim, "width to which actions are padded").range(1, kMaxSize);
  table("num_inference_steps", c.num_inference_steps, "integration steps of sampling").range(1, kMaxDepth);
  table("time_sampling_beta_alpha", c.time_sampling_beta_alpha, "alpha of the Beta distribution of training times")
      .range(1e-6, 1e6);
  table("time_sampling_beta_beta", c.time_sampling_beta_beta, "beta of the Beta distribution of training times")
      .range(1e-6, 1e6);
  table("time_sampling_scale", c.time_sampling_scale, "training times are scale * Beta + offset").range(0, 1);
  table("time_sampling_offset", c.time_sampling_offset, "see time_sampling_scale").range(0, 1);
  table("min_period", c.min_period, "shortest period of the sinusoids that embed the time").range(1e-12, 1e12);
  table("max_period", c.max_period, "longest period of the sinusoids that embed the time").range(1e-12, 1e12);
  table("use_relative_actions", c.use_relative_actions, "predict actions relative to the state");
  table("relative_exclude_joints", c.relative_exclude_joints, "joints whose actions stay absolute");
  table("action_feature_names", c.action_feature_names, "names of the action's values, for relative_exclude_joints");
  table.section("rtc_config", c.rtc_config, "real-time chunking");
  table("image_resolution", c.image_resolution, "height and width of the pictures that the vision tower sees, pixels")
      .range(1, 1 << 14);
  table("empty_cameras", c.empty_cameras, "cameras that the policy has and the data has not").range(0, 64);
}

void training_fields(config::FieldTable& table, PolicyConfig& c) {
  table("gradient_checkpointing", c.gradient_checkpointing,
        "recompute activations in the backward pass to save memory");
  pass_on(table, c, "compile_model", Json(false));
  pass_on(table, c, "compile_mode", Json("max-autotune"));
  table("freeze_vision_encoder", c.freeze_vision_encoder, "do not train the vision tower");
  table("train_expert_only", c.train_expert_only, "train only the action expert and the small projections");
  table("optimizer_lr", c.optimizer_lr, "peak learning rate").range(0, 1e3);
  table("optimizer_betas", c.optimizer_betas, "AdamW's betas, below 1").range(0, 1.0 - 1e-9);
  table("optimizer_eps", c.optimizer_eps, "AdamW's epsilon, above 0").range(1e-30, 1);
  table("optimizer_weight_decay", c.optimizer_weight_decay, "decoupled weight decay, of every parameter").range(0, 1e3);
  table("optimizer_grad_clip_norm", c.optimizer_grad_clip_norm, "largest global norm of the gradients").range(0, 1e12);
  table("scheduler_warmup_steps", c.scheduler_warmup_steps, "steps of linear warmup").range(0, 1e12);
  table("scheduler_decay_steps", c.scheduler_decay_steps, "steps of the cosine decay, warmup included").range(1, 1e12);
  table("scheduler_decay_lr", c.scheduler_decay_lr, "learning rate after the decay").range(0, 1e3);
}

void prompt_length_field(config::FieldTable& table, PolicyConfig& c) {
  table("tokenizer_max_length", c.tokenizer_max_length, "tokens to which prompts are padded").range(1, kMaxSize);
}

}  // namespace

void fields(config::FieldTable& table, VisionSize& size) {
  table("width", size.width, "width of the SigLIP tower").range(1, kMaxSize);
  table("depth", size.depth, "layers").range(1, kMaxDepth);
  table("num_heads", size.num_heads, "attention heads").range(1, kMaxSize);
  table("mlp_dim", size.mlp_dim, "inner width of the MLPs").range(1, kMaxSize);
  table("patch_size", size.patch_size, "side of a patch, pixels").range(1, kMaxSize);
}

void fields(config::FieldTable& table, GemmaSize& size) {
  table("width", size.width, "width of the residual stream").range(1, kMaxSize);
  table("depth", size.depth, "layers").range(1, kMaxDepth);
  table("mlp_dim", size.mlp_dim, "inner width of the MLPs").range(1, kMaxSize);
  table("num_heads", size.num_heads, "query heads").range(1, kMaxSize);
  table("num_kv_heads", size.num_kv_heads, "key and value heads").range(1, kMaxSize);
  table("head_dim", size.head_dim, "width of a head").range(2, kMaxSize);
}

void fields(config::FieldTable& table, Architecture& architecture) {
  table("vocab_size", architecture.vocab_size, "rows of the embedding table").range(1, 1 << 30);
  table.section("vision", architecture.vision, "SigLIP vision tower");
  table.section("paligemma", architecture.paligemma, "Gemma language model");
  table.section("action_expert", architecture.action_expert, "Gemma action expert");
}

void fields(config::FieldTable& table, RtcConfig& config) {
  table("enabled", config.enabled, "guide a new chunk by the actions that are still to be executed");
  table("prefix_attention_schedule", config.prefix_attention_schedule, "how the weight of old actions falls")
      .choices({"ZEROS", "ONES", "LINEAR", "EXP"});
  table("max_guidance_weight", config.max_guidance_weight, "largest weight of the guidance").range(0, 1e6);
  table("execution_horizon", config.execution_horizon, "actions that are executed before the next chunk")
      .range(0, kMaxSize);
}

void fields(config::FieldTable& table, PolicyConfig& c) {
  table("type", c.type, "the policy").choices({"pi0", "pi05"});
  table("n_obs_steps", c.n_obs_steps, "observations per sample").range(1, 1);
  table("device", c.device, "device that the checkpoint was trained on");
  pass_on(table, c, "use_amp", Json(false));
  pass_on(table, c, "use_peft", Json(false));
  pass_on(table, c, "push_to_hub", Json(true));
  for (const char* key : {"repo_id", "private", "tags", "license", "pretrained_path", "pretrained_revision"}) {
    pass_on(table, c, key, Json());
  }
  table("paligemma_variant", c.paligemma_variant, "size of the language model").choices({"gemma_2b", "gemma_300m"});
  table("action_expert_variant", c.action_expert_variant, "size of the action expert")
      .choices({"gemma_2b", "gemma_300m"});
  table("dtype", c.dtype, "of weights and computation; autocast: float32 weights, bfloat16 products")
      .choices({"float32", "bfloat16", "bfloat16_autocast"});
  flow_fields(table, c);
  if (c.is_pi05()) {
    prompt_length_field(table, c);  // LeRobot's order differs between the two
  }
  normalization_field(table, c);
  training_fields(table, c);
  if (!c.is_pi05()) {
    prompt_length_field(table, c);
  }
  table.section("architecture", c.architecture, "sizes other than those of the variants");
}

}  // namespace flexor::schema
