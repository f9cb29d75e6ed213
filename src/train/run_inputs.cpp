#include "train/run_inputs.h"

#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "data/prompt_check.h"
#include "schema/openpi_policy.h"
#include "train/checkpoint.h"
#include "train/training_state.h"

namespace flexor::train {
namespace {

std::string pretrained_source(const RunPlan& plan) {
  return plan.checkpoint ? plan.checkpoint->pretrained() : plan.config.policy.path;
}

void check_tokenizer(const data::Tokenizer& tokenizer, const schema::PolicyConfig& policy) {
  data::check_vocabulary(tokenizer, policy.sizes().vocab_size);
}

/// A processor made of the dataset's statistics; with fit_to_data the prompt length and the vocabulary are set first.
std::shared_ptr<const data::Processor> new_processor(const RunPlan& plan, RunInputs& inputs) {
  TrainingStats stats = training_stats(plan.config, inputs.policy, *inputs.data->all);
  if (stats.computed) {
    inputs.computed_stats = stats.stats;
  }
  const data::Tokenizer tokenizer = open_training_tokenizer(plan.config);
  const auto make = [&] {
    return std::make_shared<const data::Processor>(
        data::make_processor_config(inputs.policy, stats.stats, plan.config.rename_map), tokenizer);
  };
  auto processor = make();
  if (plan.config.policy.fit_to_data) {
    constexpr int64_t kMultiple = 8;
    const int64_t longest = data::prompt_length(tokenizer, processor->config().prompt,
                                                data::distinct_tasks(*inputs.data->all), processor->state_dim())
                                .at_most;
    inputs.policy.tokenizer_max_length = (longest + kMultiple - 1) / kMultiple * kMultiple;
    schema::Architecture sizes = inputs.policy.sizes();
    sizes.vocab_size = tokenizer.vocab_size();
    inputs.policy.architecture = sizes;
    processor = make();
    log_info("policy fitted to the data", {{"max_state_dim", inputs.policy.max_state_dim},
                                           {"max_action_dim", inputs.policy.max_action_dim},
                                           {"tokenizer_max_length", inputs.policy.tokenizer_max_length},
                                           {"vocab_size", sizes.vocab_size}});
  }
  return processor;
}

}  // namespace

schema::PolicyConfig resumed_policy(const RunPlan& plan) {
  schema::PolicyConfig policy = schema::read_policy_config(plan.checkpoint->pretrained());
  policy.dtype = plan.config.policy.config.dtype;
  policy.gradient_checkpointing = plan.config.policy.config.gradient_checkpointing;
  return policy;
}

RunInputs prepare_inputs(const RunPlan& plan) {
  RunInputs inputs;
  inputs.policy = plan.checkpoint ? resumed_policy(plan) : plan.config.policy.config;
  inputs.processor_source = pretrained_source(plan);
  if (!plan.config.batch_file.empty()) {
    return inputs;
  }
  inputs.data = open_training_data(plan.config);
  if (plan.checkpoint) {
    check_cameras(inputs.policy, *inputs.data->all);
    check_same_data(*plan.checkpoint, {inputs.data->train->num_frames(), inputs.data->train->num_episodes()});
    const std::string folder = plan.checkpoint->pretrained();
    const bool is_ours = is_flexor_checkpoint(*plan.checkpoint);  // then it holds the run's tokenizer
    inputs.processor = std::make_shared<const data::Processor>(
        data::read_processor(folder, inputs.policy),
        open_training_tokenizer(plan.config, is_ours ? folder : std::string(), folder));
  } else {
    inputs.policy = policy_for_data(plan.config, *inputs.data->all);
    check_cameras(inputs.policy, *inputs.data->all);
    inputs.processor = new_processor(plan, inputs);
  }
  check_tokenizer(inputs.processor->tokenizer(), inputs.policy);
  data::check_prompts(*inputs.processor, *inputs.data->all);
  return inputs;
}

}  // namespace flexor::train
