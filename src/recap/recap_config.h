#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/finding.h"
#include "config/load.h"
#include "models/value_config.h"
#include "optim/ema.h"
#include "schema/policy_config.h"
#include "train/train_config.h"

namespace flexor::recap {

/// One dataset of a step. Empty or null: the value of the section around it.
struct DatasetEntry {
  std::string dataset_path = {};  ///< folder that holds meta/info.json
  std::string name = {};          ///< in metrics and reports; empty: the folder's name
  std::string type = {};          ///< sft, rollout, eval (= rollout)
  double weight = 1.0;            ///< share in training, relative to the other weights
  std::string robot_type = {}, model_type = {}, default_prompt = {};
  std::optional<double> gamma = {}, failure_reward = {};  ///< step 1
  std::string output_path = {};   ///< step 1: copy the dataset there first, the sidecar goes into the copy
  std::string success_from = {};  ///< step 1: column, episodes, list; empty: list if given, else column,
                                  ///< else episodes
  std::optional<std::vector<int64_t>> success_episodes = {};  ///< step 1: episode_index of the successful ones
  std::optional<double> return_min = {}, return_max = {};     ///< of this dataset; informative, as in the reference
  std::optional<std::vector<int64_t>> episodes = {};          ///< episode_index of those to use; null: all
  std::optional<int64_t> max_samples = {};                    ///< the first frames only
  double episode_percentage = 100.0;                          ///< < 100: max(1, floor(n * p / 100)) episodes
  bool shuffle_episodes = false;                              ///< choose them by chance instead of the first ones
  int64_t episode_seed = 42;

  std::string shown_name() const;  ///< name, else the folder's name
};
void fields(config::FieldTable& table, DatasetEntry& entry);

/// Whether a type means "demonstration": every episode a success, every frame labelled positive.
bool is_sft(std::string_view type);

/// `data` of every step. The shared `data` at top level fills what a step's own `data` does not give.
struct DataSection {
  std::string data_root = {};                       ///< prefix of relative dataset and output paths
  std::vector<DatasetEntry> train_data_paths = {};  ///< all steps
  std::vector<DatasetEntry> eval_data_paths = {};   ///< value: validation
  std::vector<DatasetEntry> val_data_paths = {};    ///< policy: validation
  std::string dataset_path = {}, output_path = {};  ///< step 1 of one dataset, instead of train_data_paths
  std::string dataset_type = "sft";                 ///< of entries without type
  std::string tag = {};                             ///< of the returns
  std::string advantage_tag = {};                   ///< policy: of the advantages
  double gamma = 1.0;
  std::optional<double> failure_reward = -300.0;
  std::optional<double> return_min = {}, return_max = {};  ///< null: over the datasets' returns of this tag
  int64_t advantage_lookahead_step = 10;
  std::optional<int64_t> num_workers = {};        ///< threads that read; null: one per core
  std::optional<int64_t> train_num_workers = {};  ///< value; null: num_workers
  std::optional<int64_t> eval_num_workers = {};   ///< value; null: num_workers
  int64_t prefetch_factor = 4;                    ///< batches read ahead per thread
  int64_t action_horizon = 10, action_dim = 7;
  bool normalize_to_minus_one_zero = true;
  bool do_augment = true;
  std::string robot_type = "libero", model_type = "pi05";
  std::string default_prompt = "perform the task";
  std::map<std::string, std::string> rename_map = {};  ///< policy: recorded feature name -> the policy's
  bool balance_weights = true;                         ///< value: weights times length
  bool balance_dataset_weights = true;                 ///< policy: the same
  int64_t seed = 42;                                   ///< of the mixture
};
void fields(config::FieldTable& table, DataSection& section);

struct RunnerSection {
  int64_t max_epochs = 30000, max_steps = -1;  ///< steps of the run: the smaller of both where >= 0 (epochs: > 0)
  int64_t val_check_interval = -1, save_interval = -1;
  int64_t log_interval = 10;
  std::string resume_dir = {};  ///< .../checkpoints/global_step_N, "auto": the newest of the run, empty: from the start
};
void fields(config::FieldTable& table, RunnerSection& section);

/// AdamW and its schedule, under the reference's names.
struct OptimSection {
  double lr = 5e-5, value_lr = 1e-4;  ///< value_lr: parameters of the value head
  double adam_beta1 = 0.9, adam_beta2 = 0.95, adam_eps = 1e-8;
  double weight_decay = 1e-10, clip_grad = 1.0;
  std::string lr_scheduler = "constant";
  int64_t lr_warmup_steps = 500;  ///< negative: lr_warmup_steps_ratio * total_training_steps
  double lr_warmup_steps_ratio = 0.0;
  int64_t total_training_steps = 8000;
  double min_lr = 0.0;
  std::optional<double> min_lr_rate = {};  ///< instead of min_lr
  double num_cycles = 0.5;
  std::string compat = "fixed";  ///< reference: its schedules with their flaws
};
void fields(config::FieldTable& table, OptimSection& section);

struct FsdpSection {
  std::string strategy = "fsdp", sharding_strategy = "no_shard";
  bool use_orig_params = false, gradient_checkpointing = false;
};
void fields(config::FieldTable& table, FsdpSection& section);

/// The value model, in training (value.actor.model) and in labelling (advantages.advantage.model).
struct ValueModelSection {
  std::string model_type = "recap_value_model";
  std::string model_path = {};  ///< checkpoint whose weights training starts from
  std::string siglip_path = {}, gemma3_path = {}, tokenizer_path = {};
  std::string critic_expert_variant = "gemma_1m";
  int64_t num_bins = 201;
  double v_min = -1.0, v_max = 0.0;
  double value_dropout = 0.0;
  int64_t max_token_len = 200;
  std::string precision = "bf16";  ///< fp32; bf16: float32 masters, bfloat16 compute
  bool freeze_vision_encoder = false, freeze_vlm = false, stop_gradient_to_vlm = false;
  bool scale_cls_embedding = false;  ///< times sqrt(width), as unpatched transformers do
  /// Sizes of a model from scratch, instead of siglip_path, gemma3_path and critic_expert_variant.
  std::optional<models::ValueArchitecture> architecture = {};
};
void fields(config::FieldTable& table, ValueModelSection& section);

/// STEAM: the ensemble that predicts the stride between two frames.
struct SteamSection {
  int64_t k = 32, num_bins = 32;
  int64_t ensemble_size = 3, ensemble_head_seed_base = 0;
  double label_smoothing = 0.05, dropout = 0.1;
  int64_t projection_dim = 512, image_size = 384;
  bool length_scale_enabled = false;
  double length_scale_percentile = 90.0;
  bool only_success = false;
};
void fields(config::FieldTable& table, SteamSection& section);

struct ValueActor {
  int64_t micro_batch_size = 32, global_batch_size = 256, seed = 0;
  ValueModelSection model = {};
  SteamSection steam;
  OptimSection optim;
  FsdpSection fsdp_config;
};
void fields(config::FieldTable& table, ValueActor& actor);

/// pi0 / pi0.5 with classifier-free guidance on the label.
struct OpenpiSection {
  std::string config_name = "pi05_libero";
  double cfgrl_guidance_scale = 1.0;
  std::string guidance_type = "positive";
  double unconditional_prob = 0.1;
  bool positive_only_conditional = true;
  bool train_expert_only = false;
};
void fields(config::FieldTable& table, OpenpiSection& section);

struct PolicyModelSection {
  std::string model_type = "cfg_model";
  std::string model_path = {};  ///< folder of LeRobot or openpi, or RLinf's full_weights.pt (or a folder with it)
  std::string tokenizer_path = {}, norm_stats = {};
  std::string precision = {};  ///< empty: bfloat16 with float32 masters where the checkpoint is bfloat16
  int64_t num_action_chunks = 10, num_steps = 5;
  std::optional<int64_t> action_dim = {};         ///< real dimensions; null: the dataset's
  std::optional<int64_t> action_horizon = {};     ///< null: the preset's, else the checkpoint's
  std::optional<int64_t> max_token_len = {};      ///< null: the checkpoint's, from scratch as the data need
  std::optional<bool> use_relative_actions = {};  ///< null: the preset's, else the checkpoint's
  /// Sizes of a policy from scratch instead of model_path, or of a full_weights.pt that is not of the usual size.
  std::optional<schema::Architecture> architecture = {};
  std::array<int64_t, 2> image_resolution = {224, 224};  ///< with architecture
  OpenpiSection openpi;
};
void fields(config::FieldTable& table, PolicyModelSection& section);

struct PolicyActor {
  int64_t micro_batch_size = 32, global_batch_size = 512, seed = 0;
  PolicyModelSection model;
  OptimSection optim{
      .lr = 1e-5, .value_lr = 1e-5, .lr_scheduler = "cosine", .lr_warmup_steps = 5000, .total_training_steps = 30000};
  FsdpSection fsdp_config;
  optim::EmaConfig ema{.decay = 0.999};
};
void fields(config::FieldTable& table, PolicyActor& actor);

/// Step 3.
struct AdvantageSection {
  std::string value_checkpoint = {};                ///< empty: the best of this run
  std::string method = "recap";                     ///< steam: the ensemble's labels
  int64_t batch_size = 1024, flush_interval = 256;  ///< a shard on disk has batch_size * flush_interval frames
  std::optional<int64_t> num_dataloader_workers_per_gpu = {};  ///< threads that decode; null: one per core
  int64_t prefetch_factor = 2;
  bool discount_next_value = true;
  double positive_quantile = 0.3;
  std::string threshold_from = "all";  ///< pooled over all frames; rollout: over rollout frames only; task: per task
  std::string tag = {}, returns_tag = {};
  std::optional<int64_t> max_samples = {};  ///< of each dataset
  bool allow_no_success = false;
  ValueModelSection model = {};
  // STEAM
  std::string label_mode = "quantile";  ///< or threshold
  double rollout_quantile = 0.3;
  std::optional<double> expert_quantile = {};
  std::optional<double> positive_threshold = {};
};
void fields(config::FieldTable& table, AdvantageSection& section);

struct ReturnsStep {
  DataSection data;
};
void fields(config::FieldTable& table, ReturnsStep& step);
struct ValueStep {
  DataSection data;
  RunnerSection runner{.val_check_interval = 500, .save_interval = 3000};
  ValueActor actor;
};
void fields(config::FieldTable& table, ValueStep& step);
struct AdvantagesStep {
  DataSection data;
  AdvantageSection advantage;
};
void fields(config::FieldTable& table, AdvantagesStep& step);
struct PolicyStep {
  DataSection data;
  RunnerSection runner{.val_check_interval = -1, .save_interval = 3000};
  PolicyActor actor;
};
void fields(config::FieldTable& table, PolicyStep& step);

/// Everything that the commands `flexor recap ...` can be told. Each step reads its own section only.
struct RecapConfig {
  std::string output_dir = {};
  std::string tag = {};  ///< of returns and advantages of all steps
  std::string device = "auto";
  int64_t threads = 0;
  train::DistSection dist;
  DataSection data;  ///< shared; already part of every step's `data` after load_recap_config
  ReturnsStep returns;
  ValueStep value;
  AdvantagesStep advantages;
  PolicyStep policy;
};
void fields(config::FieldTable& table, RecapConfig& config);

enum class Step { kReturns, kValue, kAdvantages, kPolicy };
std::string_view step_name(Step step);  ///< "returns", "value", "advantages", "policy": the section's key

/// Reads a configuration. A file with the sections is a whole configuration; one without is the tree of `only`.
/// Overrides of a single step are keys of its tree (`actor.seed=1`) or full ones (`value.actor.seed=1`).
/// Paths that are read (datasets, models, tokenizers) are resolved as config/recipe_path.h says.
/// @param only  the step that is to run; null for all of them (`recap run`), which need a whole configuration
/// @throws Error(kFile), Error(kConfig) that lists all problems of the steps concerned
RecapConfig load_recap_config(const config::Sources& sources, std::optional<Step> only);

/// Rules across the keys of one step. Paths are not looked at.
std::vector<config::Finding> check(const RecapConfig& config, Step step);

/// The datasets that step 1 works on: train_data_paths, else the one of dataset_path and output_path.
std::vector<DatasetEntry> returns_entries(const DataSection& data);

/// `path` below data_root unless it is absolute; "" stays "".
std::string resolved_path(const DataSection& data, const std::string& path);

/// "returns.parquet" for an empty tag, else "returns_TAG.parquet".
std::string sidecar_name(std::string_view kind, std::string_view tag);

}  // namespace flexor::recap
