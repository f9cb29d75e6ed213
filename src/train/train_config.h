#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/finding.h"
#include "config/load.h"
#include "optim/adamw.h"
#include "optim/ema.h"
#include "optim/lr_schedule.h"
#include "schema/policy_config.h"

namespace flexor::train {

struct MixEntry {
  std::string root;
  double weight = 1.0;
};
void fields(config::FieldTable& table, MixEntry& entry);

struct DatasetSection {
  std::string root;           ///< folder that holds meta/info.json
  std::vector<MixEntry> mix;  ///< instead of root
  std::optional<std::vector<int64_t>> episodes;
  double eval_split = 0.0;  ///< share of the episodes of each task that is held out
  std::string resize = "uint8";
  std::string cache = "auto";
  std::string image_transforms = "none";
};
void fields(config::FieldTable& table, DatasetSection& section);

/// The policy: LeRobot's config.json, and where it comes from.
struct PolicySection {
  schema::PolicyConfig config;
  std::string path;  ///< checkpoint to fine-tune; empty: from scratch
  bool allow_partial = false;
  std::string vlm_path;  ///< Hugging Face PaliGemma folder
  std::string tokenizer_path;
  std::string norm_stats;  ///< openpi's norm_stats.json
  std::string rope_frequencies = "reference";
  bool fit_to_data = false;  ///< max dims, prompt length and vocabulary as large as data and tokenizer need
};
void fields(config::FieldTable& table, PolicySection& section);

struct LoraSection {
  bool enable = false;
  std::string style = "lerobot";
  std::optional<int64_t> r;
  std::optional<double> alpha;
  std::vector<std::string> targets;
};
void fields(config::FieldTable& table, LoraSection& section);

struct AttentionSection {
  std::string impl = "fused";
};
void fields(config::FieldTable& table, AttentionSection& section);
struct LogSection {
  std::string style = "flexor";
};
void fields(config::FieldTable& table, LogSection& section);
struct ParallelSection {
  std::string strategy = "none";
};
void fields(config::FieldTable& table, ParallelSection& section);
struct RuntimeSection {
  std::string bind = "none";
};
void fields(config::FieldTable& table, RuntimeSection& section);
struct DistSection {
  double timeout_s = 600;
};
void fields(config::FieldTable& table, DistSection& section);

/// Everything that `flexor train` can be told.
struct TrainConfig {
  DatasetSection dataset;
  std::map<std::string, std::string> rename_map;
  PolicySection policy;
  optim::AdamWConfig optimizer;
  optim::ScheduleConfig scheduler;
  optim::EmaConfig ema;
  LoraSection lora;
  AttentionSection attention;
  int64_t batch_size = 8;                    ///< per rank and micro step
  std::optional<int64_t> global_batch_size;  ///< batch_size * world * accumulation
  int64_t steps = 100000, log_freq = 200, save_freq = 20000, eval_freq = 0;
  int64_t max_eval_samples = 256;
  int64_t seed = 1000;
  int num_workers = 2, prefetch = 2;
  int64_t threads = 0;
  std::string device = "auto";
  bool deterministic = false, rm_dropout = false;
  std::string output_dir;
  std::string resume = "false";  ///< false, true, auto, or the folder of a run
  std::string batch_file;
  LogSection log;
  ParallelSection parallel;
  RuntimeSection runtime;
  DistSection dist;

  bool is_resume() const { return resume != "false" && !resume.empty(); }
  /// Folder given as resume=RUN_DIR, else "".
  std::string resume_dir() const {
    return is_resume() && resume != "true" && resume != "auto" ? resume : std::string();
  }
};
void fields(config::FieldTable& table, TrainConfig& config);

/// Rules across keys. @param world  number of ranks
std::vector<config::Finding> check(const TrainConfig& config, int64_t world);

/// Micro batches a step: global_batch_size / (batch_size * world), 1 without. Only valid after check().
int64_t accumulation(const TrainConfig& config, int64_t world);

/// Reads a configuration for a new run, or the one that a resumed run must agree with.
/// The policy's fields start from policy.path's config.json or the defaults of policy.type; optimizer and schedule
/// start from the policy's preset. @param base  start from this instead (resuming)
/// @throws Error(kConfig), Error(kFile), Error(kCheckpoint)
TrainConfig load_train_config(const config::Sources& sources, int64_t world, const TrainConfig* base = nullptr);

/// What optimizer and schedule say becomes the preset of the policy, which holds the same numbers under its own keys.
void give_preset(TrainConfig& config);

}  // namespace flexor::train
