#include "recap/policy_setup.h"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "data/prompt_check.h"
#include "recap/policy_recipe.h"
#include "recap/policy_stats.h"
#include "schema/openpi_policy.h"
#include "train/data_setup.h"
#include "train/policy_setup.h"

namespace flexor::recap {
namespace {

using data::AdvantageLabel;

/// The labels that a prompt of this run may hold.
std::vector<AdvantageLabel> labels_in_prompts() {
  return {AdvantageLabel::kNone, AdvantageLabel::kPositive, AdvantageLabel::kNegative};
}

/// tokenizer_path, else the one beside model_path.
data::Tokenizer policy_tokenizer(const PolicyModelSection& section) {
  if (!section.tokenizer_path.empty()) {
    return data::Tokenizer::open(section.tokenizer_path);
  }
  if (!section.model_path.empty() && std::filesystem::is_directory(section.model_path) &&
      !data::find_tokenizer(section.model_path).empty()) {
    return data::Tokenizer::open(section.model_path);
  }
  throw data::missing_tokenizer("training needs the policy's tokenizer", "policy.actor.model.tokenizer_path");
}

void refuse_other_width(const PolicyModelSection& section, const schema::PolicyConfig& policy) {
  if (section.action_dim && *section.action_dim != policy.action_dim()) {
    throw Error(ErrorKind::kData,
                str_cat("actions have ", policy.action_dim(), " values, expected ", *section.action_dim),
                "policy.actor.model.action_dim", "leave the key out: the dataset decides");
  }
}

/// Prompt length and vocabulary of a policy from scratch.
void fit_to_data(schema::PolicyConfig& policy, const PolicyModelSection& section, const data::Tokenizer& tokenizer,
                 const data::ProcessorConfig& processor, const PolicyData& data) {
  constexpr int64_t kMultiple = 8;
  std::vector<std::string> tasks = data::distinct_tasks(*data.mixture);
  for (const PolicyDataset& dataset : data.val) {
    const std::vector<std::string> more = data::distinct_tasks(data::Mixture(dataset.dataset));
    tasks.insert(tasks.end(), more.begin(), more.end());
  }
  for (const PolicyDataset& dataset : data.train) {
    tasks.push_back(dataset.default_prompt);
  }
  const int64_t longest =
      data::prompt_length(tokenizer, processor.prompt,
                          data::labelled_tasks(processor.prompt, tasks, labels_in_prompts()), policy.state_dim())
          .at_most;
  policy.tokenizer_max_length = section.max_token_len.value_or((longest + kMultiple - 1) / kMultiple * kMultiple);
  schema::Architecture sizes = policy.sizes();
  sizes.vocab_size = tokenizer.vocab_size();
  policy.architecture = sizes;
  log_info("policy fitted to the data", {{"max_state_dim", policy.max_state_dim},
                                         {"max_action_dim", policy.max_action_dim},
                                         {"tokenizer_max_length", policy.tokenizer_max_length},
                                         {"vocab_size", sizes.vocab_size}});
}

/// A prompt that would lose its end loses its label.
void check_prompts(const data::Processor& processor, const PolicyData& data) {
  try {
    data::check_prompts(processor, *data.mixture, labels_in_prompts());
    for (const PolicyDataset& dataset : data.val) {
      data::check_prompts(processor, data::Mixture(dataset.dataset), labels_in_prompts());
    }
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), error.where(),
                "a larger policy.actor.model.max_token_len: a prompt that is cut loses its label");
  }
}

void start_new(PolicyInputs& inputs, const PolicyStep& step) {
  const PolicyModelSection& section = step.actor.model;
  inputs.policy = train::policy_for_data(inputs.plan.config, *inputs.data.mixture);
  train::check_cameras(inputs.policy, *inputs.data.mixture);
  refuse_other_width(section, inputs.policy);
  set_relative_dims(inputs.policy, policy_preset(section.openpi.config_name));
  PolicyStats stats = policy_stats(section, inputs.plan.config, inputs.policy, *inputs.data.mixture);
  const data::PromptStyle prompt = prompt_style(section, inputs.policy);
  check_ranges(stats, inputs.policy, prompt);
  const data::Tokenizer tokenizer = policy_tokenizer(section);
  data::ProcessorConfig processor =
      data::make_processor_config(inputs.policy, std::move(stats.stats), inputs.data.rename_map);
  processor.prompt = prompt;
  data::use_cleaned_tasks(processor);
  if (section.model_path.empty()) {
    fit_to_data(inputs.policy, section, tokenizer, processor, inputs.data);
    processor.max_length = inputs.policy.tokenizer_max_length;
  }
  inputs.processor = std::make_shared<const data::Processor>(std::move(processor), tokenizer);
  inputs.stats_source = stats.source;
}

void go_on(PolicyInputs& inputs, const std::string& folder) {
  data::ProcessorConfig processor = data::read_processor(folder, inputs.policy);
  data::use_cleaned_tasks(processor);
  inputs.processor = std::make_shared<const data::Processor>(std::move(processor), data::Tokenizer::open(folder));
  inputs.stats_source = folder;
}

schema::PolicyConfig resumed_policy(const PolicyStep& step, const std::string& folder) {
  schema::PolicyConfig policy = schema::read_policy_config(folder);
  policy.gradient_checkpointing = step.actor.fsdp_config.gradient_checkpointing;
  return policy;
}

}  // namespace

PolicyInputs prepare_policy(const RecapConfig& config, const std::string& checkpoint, bool with_labels, int64_t world) {
  const PolicyStep& step = config.policy;
  const std::string folder = checkpoint + "/pretrained_model";
  PolicyInputs inputs;
  inputs.policy = checkpoint.empty() ? starting_policy(step) : resumed_policy(step, folder);
  inputs.data = open_policy_data(step, inputs.policy, with_labels);
  inputs.plan.config = policy_train_config(config, inputs.policy, inputs.data);
  if (checkpoint.empty()) {
    start_new(inputs, step);
  } else {
    inputs.plan.checkpoint = train::CheckpointRef{checkpoint, 0};
    train::check_cameras(inputs.policy, *inputs.data.mixture);
    go_on(inputs, folder);
  }
  inputs.stats_hash = stats_hash(inputs.processor->config().stats);
  data::check_vocabulary(inputs.processor->tokenizer(), inputs.policy.sizes().vocab_size);
  check_prompts(*inputs.processor, inputs.data);
  train::check_memory(inputs.plan.config, inputs.policy, world);
  return inputs;
}

}  // namespace flexor::recap
