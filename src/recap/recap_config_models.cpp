#include "config/field_table.h"
#include "recap/recap_config.h"

namespace flexor::recap {
namespace {

constexpr double kMaxBatch = 1e6;

}  // namespace

void fields(config::FieldTable& table, ValueModelSection& c) {
  table("model_type", c.model_type, "what is trained").choices({"recap_value_model", "steam_value_model"});
  table("model_path", c.model_path, "checkpoint whose weights training starts from");
  table("siglip_path", c.siglip_path, "Hugging Face folder of the SigLIP2 vision tower");
  table("gemma3_path", c.gemma3_path, "Hugging Face folder of the Gemma3 language model");
  table("tokenizer_path", c.tokenizer_path,
        "tokenizer file or folder; empty: that of gemma3_path or of the checkpoint");
  table("critic_expert_variant", c.critic_expert_variant, "size of the expert that reads the language model")
      .choices({"dummy", "gemma_1m", "gemma_50m", "gemma_100m", "gemma_150m", "gemma_300m", "gemma_2b"});
  table("num_bins", c.num_bins, "bins of the value").range(2, 1e5);
  table("v_min", c.v_min, "value of the first bin").range(-1e6, 1e6);
  table("v_max", c.v_max, "value of the last bin").range(-1e6, 1e6);
  table("value_dropout", c.value_dropout, "before the last layer").range(0, 0.999);
  table("max_token_len", c.max_token_len, "tokens of the prompt").range(1, 1e5);
  table("precision", c.precision, "bf16: float32 masters, bfloat16 compute").choices({"bf16", "fp32"});
  table("freeze_vision_encoder", c.freeze_vision_encoder, "train everything but SigLIP");
  table("freeze_vlm", c.freeze_vlm, "train everything but Gemma3 (SigLIP goes on training)");
  table("stop_gradient_to_vlm", c.stop_gradient_to_vlm, "train expert and head only");
  table("scale_cls_embedding", c.scale_cls_embedding,
        "multiply the [CLS] embedding by sqrt(width), as transformers without openpi's files do");
  table.section("architecture", c.architecture,
                "sizes of a model from scratch, instead of siglip_path, gemma3_path and critic_expert_variant");
}

void fields(config::FieldTable& table, SteamSection& c) {
  table("k", c.k, "largest distance of two frames").range(1, 1e6);
  table("num_bins", c.num_bins, "bins of the signed distance; 2: forward or backward").range(2, 1e5);
  table("ensemble_size", c.ensemble_size, "members").range(1, 1000);
  table("ensemble_head_seed_base", c.ensemble_head_seed_base, "member m starts with this seed + m")
      .range(0, 4294967295.0);
  table("label_smoothing", c.label_smoothing, "of the cross-entropy").range(0, 1);
  table("dropout", c.dropout, "of the head").range(0, 0.999);
  table("projection_dim", c.projection_dim, "width of the head").range(1, 1e5);
  table("image_size", c.image_size, "pixels of a picture's side").range(1, 4096);
  table("length_scale_enabled", c.length_scale_enabled, "stretch distances in short episodes");
  table("length_scale_percentile", c.length_scale_percentile, "length of the reference episode").range(0, 100);
  table("only_success", c.only_success, "train on successful episodes only");
}

void fields(config::FieldTable& table, ValueActor& c) {
  table("micro_batch_size", c.micro_batch_size, "samples per rank and micro step").range(1, kMaxBatch);
  table("global_batch_size", c.global_batch_size, "samples per step over all ranks").range(1, 1e9);
  table("seed", c.seed, "of everything that is drawn").range(0, 4294967295.0);
  table.section("model", c.model, "the value model");
  table.section("steam", c.steam, "the ensemble of --method steam");
  table.section("optim", c.optim, "AdamW and its schedule");
  table.section("fsdp_config", c.fsdp_config, "memory and ranks");
}

void fields(config::FieldTable& table, OpenpiSection& c) {
  table("config_name", c.config_name, "preset of openpi").choices({"pi05_libero", "pi0_libero", "pi05", "pi0", "auto"});
  table("cfgrl_guidance_scale", c.cfgrl_guidance_scale, "w: 1 = with label only, 0 = without, above 1 extrapolates")
      .range(-1e3, 1e3);
  table("guidance_type", c.guidance_type, "label asked for when sampling")
      .choices({"positive", "negative", "no_guide"});
  table("unconditional_prob", c.unconditional_prob, "share of samples that are trained without label").range(0, 1);
  table("positive_only_conditional", c.positive_only_conditional, "only positive samples are trained with label");
  table("train_expert_only", c.train_expert_only, "freeze the language model");
}

void fields(config::FieldTable& table, PolicyModelSection& c) {
  table("model_type", c.model_type, "what is trained").choices({"cfg_model"});
  table("model_path", c.model_path,
        "policy to start from: a folder of LeRobot or openpi, or RLinf's full_weights.pt; empty: architecture");
  table("tokenizer_path", c.tokenizer_path, "tokenizer file or folder; empty: the one beside model_path");
  table("norm_stats", c.norm_stats, "openpi's norm_stats.json; empty: the one below model_path, else the dataset's");
  table("precision", c.precision, "empty: the checkpoint's; bf16: float32 masters, bfloat16 compute")
      .choices({"", "bf16", "fp32"});
  table("num_action_chunks", c.num_action_chunks, "steps of a chunk that are executed").range(1, 1e6);
  table("num_steps", c.num_steps, "integration steps of sampling").range(1, 1e6);
  table("action_dim", c.action_dim, "real dimensions of an action; null: the dataset's").range(1, 1e6);
  table("action_horizon", c.action_horizon, "steps of a chunk; null: that of config_name, else the checkpoint's")
      .range(1, 1e6);
  table("max_token_len", c.max_token_len, "tokens of the prompt; null: the checkpoint's, from scratch as needed")
      .range(1, 1e5);
  table("use_relative_actions", c.use_relative_actions,
        "actions relative to the state at the start of the chunk; null: as config_name says, else as the checkpoint");
  table.section("architecture", c.architecture,
                "sizes of a small policy from scratch, instead of model_path, or those of full_weights.pt");
  table("image_resolution", c.image_resolution, "pictures of the policy that architecture describes, pixels")
      .range(1, 4096);
  table.section("openpi", c.openpi, "guidance");
}

void fields(config::FieldTable& table, PolicyActor& c) {
  table("micro_batch_size", c.micro_batch_size, "samples per rank and micro step").range(1, kMaxBatch);
  table("global_batch_size", c.global_batch_size, "samples per step over all ranks").range(1, 1e9);
  table("seed", c.seed, "of everything that is drawn").range(0, 4294967295.0);
  table.section("model", c.model, "the policy");
  table.section("optim", c.optim, "AdamW and its schedule");
  table.section("fsdp_config", c.fsdp_config, "memory and ranks");
  table.section("ema", c.ema, "moving average of the weights");
}

void fields(config::FieldTable& table, AdvantageSection& c) {
  table("value_checkpoint", c.value_checkpoint, "empty: the best one of output_dir/value");
  table("method", c.method, "recap: N-step advantages; steam: scores of the ensemble").choices({"recap", "steam"});
  table("batch_size", c.batch_size, "frames that the model sees at once").range(1, kMaxBatch);
  table("flush_interval", c.flush_interval, "batches of a shard on disk, from which a killed run goes on")
      .range(1, kMaxBatch);
  table("num_dataloader_workers_per_gpu", c.num_dataloader_workers_per_gpu, "threads that decode; null: one per core")
      .range(0, 1024);
  table("prefetch_factor", c.prefetch_factor, "batches read ahead per thread").range(1, 1024);
  table("discount_next_value", c.discount_next_value, "multiply the value after k steps by gamma^k");
  table("positive_quantile", c.positive_quantile, "share of the frames above the threshold").range(0, 1);
  table("threshold_from", c.threshold_from,
        "frames whose quantile is the threshold: all datasets, rollout only, or "
        "those of the same task")
      .choices({"all", "rollout", "task"});
  table("tag", c.tag, "of the advantages: meta/advantages_TAG.parquet");
  table("returns_tag", c.returns_tag, "of the returns");
  table("max_samples", c.max_samples, "only so many first frames of each dataset; null: all").range(1, 1e15);
  table("allow_no_success", c.allow_no_success, "go on when no dataset has a successful episode");
  table.section("model", c.model, "architecture of a checkpoint that does not hold its own");
  table("label_mode", c.label_mode, "steam: threshold from a quantile of the scores, or given")
      .choices({"quantile", "threshold"});
  table("rollout_quantile", c.rollout_quantile, "steam: share of rollout frames labelled positive").range(0, 1);
  table("expert_quantile", c.expert_quantile, "steam: the same of sft frames; null: all of them").range(0, 1);
  table("positive_threshold", c.positive_threshold, "steam, label_mode threshold: scores above it are positive")
      .range(-1, 1);
}

}  // namespace flexor::recap
