#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/normalize.h"
#include "data/prompt.h"
#include "data/raw_batch.h"
#include "data/relative_actions.h"
#include "data/tokenizer.h"
#include "schema/batch.h"
#include "schema/norm_stats.h"
#include "schema/policy_config.h"

namespace flexor::data {

/// Everything that LeRobot's policy_preprocessor.json and policy_postprocessor.json say, and the statistics beside
/// them. Fine-tuning from a checkpoint takes make_processor_config() with the dataset's statistics; resuming and using
/// a policy take read_processor(). Statistics of an openpi norm_stats.json replace either, but the formulas stay
/// LeRobot's, since LeRobot's files cannot say otherwise; only an openpi checkpoint that is used as it is takes
/// NormFormula::kOpenpi.
struct ProcessorConfig {
  std::string policy_type = "pi05";               ///< decides the order of the steps that are written
  std::map<std::string, std::string> rename_map;  ///< dataset name -> policy name; the dataset reader applies it
  std::vector<schema::PolicyFeature> features;    ///< inputs, then outputs
  std::map<schema::FeatureType, schema::NormMode> norm_map;
  double eps = 1e-8;
  schema::NormStats stats;  ///< by the policy's names; may hold features that nobody needs
  NormFormula formula = NormFormula::kLeRobot;
  PromptStyle prompt = PromptStyle::kState;
  RelativeActions relative;
  int64_t max_length = 200;  ///< prompt tokens, bos included
  std::string tokenizer_name = "google/paligemma-3b-pt-224";
  std::string device = "cpu";
};

/// The processors of a new policy. `stats` are the dataset's or openpi's, by the policy's names.
ProcessorConfig make_processor_config(const schema::PolicyConfig& policy, schema::NormStats stats,
                                      std::map<std::string, std::string> rename_map = {});

/// True if `folder` has a policy_preprocessor.json.
bool has_processor(const std::string& folder);

/// Reads policy_preprocessor.json, policy_postprocessor.json and the state files that they name.
/// @throws Error(kFile) if a file is missing, Error(kCheckpoint) for a step that is unknown or out of order
ProcessorConfig read_processor(const std::string& folder, const schema::PolicyConfig& policy);

/// That none of the cameras of some data is one of the policy's.
Error no_known_camera(const std::vector<std::string>& present, const std::vector<std::string>& wanted,
                      const std::string& where);

/// Prompts of an advantage-conditioned policy: without the state in it, the task is cleaned as openpi does. LeRobot's
/// files cannot say so; there such a policy reads as pi0's, which takes its task as it is.
void use_cleaned_tasks(ProcessorConfig& config);

/// Writes both processors as LeRobot does: same keys, key order and state file names.
void write_processor(const ProcessorConfig& config, const std::string& folder);

/// openpi's norm_stats.json: keys `state` and `actions` (also without the outer "norm_stats") as observation.state and
/// action, cut to `state_dim` and `action_dim` values as openpi cuts them; 0 = as long as they are.
/// @throws Error(kFile), Error(kData) if a key is missing or a vector is shorter than the policy's
schema::NormStats read_openpi_norm_stats(const std::string& path, int64_t state_dim = 0, int64_t action_dim = 0);

/// Turns raw observations into what the model takes, and the model's actions into physical units.
/// Immutable; const calls are thread-safe.
class Processor {
 public:
  /// @param tokenizer  none: only for actions and prepared tensors; whatever needs prompts is an error then
  /// @throws Error(kData) if statistics that the normalisation needs are absent or of another size,
  ///         Error(kConfig) if names contradict sizes
  explicit Processor(ProcessorConfig config, std::optional<Tokenizer> tokenizer = std::nullopt);

  const ProcessorConfig& config() const { return config_; }
  const Tokenizer& tokenizer() const;  ///< @throws Error(kFile) if there is none (hint: policy.tokenizer_path)

  /// Relative actions, normalisation, prompt, tokens; everything moved to `device`, pictures unchanged.
  /// @throws Error(kData) with episode and frame if state or action is not finite or has another size than the policy's
  schema::Batch preprocess(const RawBatch& raw, const at::Device& device = at::kCPU) const;

  /// Prompt texts of a batch, exactly as they are tokenised.
  std::vector<std::string> prompts(const RawBatch& raw) const;

  /// @param actions    [B, T, A or more] normalised; dims beyond the real ones are cut
  /// @param raw_state  [B, S] physical units; only read for relative actions, else may be undefined
  /// @return           [B, T, A] physical units, on the device of `actions`
  at::Tensor unnormalize(const at::Tensor& actions, const at::Tensor& raw_state) const;
  /// State [B, S or more] back to physical units; [B, S].
  at::Tensor unnormalize_state(const at::Tensor& state) const;

  /// Writes the processors and a copy of the tokenizer (folder `tokenizer`) into a pretrained_model folder.
  void save(const std::string& folder) const;

  int64_t action_dim() const { return action_dim_; }
  int64_t state_dim() const { return state_dim_; }

 private:
  at::Tensor normalized_state(const RawBatch& raw) const;
  at::Tensor normalized_action(const RawBatch& raw) const;

  ProcessorConfig config_;
  std::optional<Tokenizer> tokenizer_;
  FeatureNormalizer state_, action_;
  std::vector<bool> relative_mask_;
  int64_t state_dim_ = 0, action_dim_ = 0;
};

}  // namespace flexor::data
