#include "policy/policy.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "data/openpi_checkpoint.h"
#include "models/flow_time.h"
#include "models/open_model.h"
#include "nn/named_params.h"
#include "tensor/tensor.h"

namespace flexor::policy {
namespace {

namespace fs = std::filesystem;

/// The tokenizer that belongs to a policy: the one that the options name, a copy in the folder, or the local path that
/// the processor names. Nothing if there is none: prepared tensors need none.
std::optional<data::Tokenizer> open_tokenizer(const std::string& folder, const data::ProcessorConfig& processor,
                                              const PolicyOptions& options) {
  if (!options.tokenizer_path.empty()) {
    return data::Tokenizer::open(options.tokenizer_path);
  }
  for (const std::string& place : {folder, (fs::path(folder) / processor.tokenizer_name).string()}) {
    if (const std::string file = data::find_tokenizer(place); !file.empty()) {
      return data::Tokenizer::open(file);
    }
  }
  return std::nullopt;
}

void check_outputs(const schema::PolicyConfig& policy, const std::string& folder) {
  const auto is_action = [](const schema::PolicyFeature& feature) { return feature.name == schema::kActionKey; };
  if (std::ranges::none_of(policy.output_features, is_action)) {
    throw Error(ErrorKind::kCheckpoint, str_cat("output_features has no `", schema::kActionKey, "`"),
                (fs::path(folder) / "config.json").string(), "copy config.json from the policy again");
  }
}

data::ProcessorConfig read_processor(const std::string& folder, const schema::PolicyConfig& policy,
                                     const PolicyOptions& options) {
  data::ProcessorConfig config;
  if (data::has_processor(folder)) {
    config = data::read_processor(folder, policy);
  } else if (!options.norm_stats.empty()) {
    config = data::make_processor_config(policy, {});
  } else {
    throw Error(ErrorKind::kCheckpoint, "no policy_preprocessor.json: nothing says how to normalise", folder,
                "use a folder that LeRobot or Flexor saved after training, or give openpi's norm_stats.json");
  }
  if (!options.norm_stats.empty()) {
    for (auto& [name, stats] :
         data::read_openpi_norm_stats(options.norm_stats, policy.state_dim(), policy.action_dim())) {
      config.stats[name] = std::move(stats);
    }
  }
  return config;
}

}  // namespace

Policy Policy::open(const std::string& folder, const PolicyOptions& options) {
  std::unique_ptr<models::PolicyModel> model;
  data::ProcessorConfig processor;
  if (auto openpi = data::read_openpi_checkpoint(folder, options.norm_stats)) {
    processor = std::move(openpi->processor);
    model = models::open_model(folder, std::move(openpi->policy), options.dtype, options.compute);
  } else {
    model = models::open_model(folder, options.dtype, options.compute);
    check_outputs(model->config(), folder);
    processor = read_processor(folder, model->config(), options);
  }
  std::optional<data::Tokenizer> tokenizer = open_tokenizer(folder, processor, options);
  if (tokenizer) {
    data::check_vocabulary(*tokenizer, model->config().sizes().vocab_size);
  }
  nn::move_params(*model, options.device);
  std::optional<LabelTraining> training = read_label_training(folder);
  if (training) {
    data::use_cleaned_tasks(processor);
  }
  return {std::move(model), data::Processor(std::move(processor), std::move(tokenizer)), options.device,
          std::move(training)};
}

Policy::Policy(std::unique_ptr<models::PolicyModel> model, data::Processor processor, at::Device device,
               std::optional<LabelTraining> training)
    : model_(std::move(model)), processor_(std::move(processor)), device_(device), training_(std::move(training)) {
  if (processor_.action_dim() != config().action_dim()) {
    throw Error(ErrorKind::kCheckpoint,
                str_cat("the processors' action has ", processor_.action_dim(), " values, config.json's has ",
                        config().action_dim()),
                "policy_preprocessor.json", "both must come from one save");
  }
}

Tensor Policy::draw_noise(int64_t batch_size, at::Generator& generator) const {
  return models::sample_noise(batch_size, config(), generator).to(device_);
}

models::SampleOptions Policy::default_sampling() const {
  return {.num_steps = config().num_inference_steps};
}

std::optional<models::GuidedPrompt> Policy::guided_prompt(const data::RawBatch& observations,
                                                          const Guidance& guidance) const {
  check_guidance(guidance, training_, "guidance");
  if (guidance.is_off()) {
    return std::nullopt;
  }
  data::RawBatch labelled;  // what prompts are made of
  labelled.state = observations.state;
  labelled.episodes = observations.episodes;
  labelled.frames = observations.frames;
  labelled.tasks.reserve(observations.tasks.size());
  for (const std::string& task : observations.tasks) {
    labelled.tasks.push_back(data::with_advantage(processor_.config().prompt, task, guidance.label()));
  }
  const data::TokenBatch tokens =
      processor_.tokenizer().encode_batch(processor_.prompts(labelled), processor_.config().max_length);
  return models::GuidedPrompt{tokens.tokens.to(device_), tokens.mask.to(device_), guidance.weight};
}

ActionChunk Policy::predict(const data::RawBatch& observations, const Tensor& noise,
                            const models::SampleOptions& options, const Guidance& guidance) {
  const at::NoGradGuard no_grad;
  data::RawBatch inputs = observations;
  inputs.action = Tensor();  // what was recorded is no input
  models::SampleOptions sampling = options;
  if (std::optional<models::GuidedPrompt> guided = guided_prompt(observations, guidance)) {
    sampling.guided = std::move(guided);
  }
  ActionChunk chunk;
  chunk.normalized = model_->sample(processor_.preprocess(inputs, device_), noise.to(device_), sampling).cpu();
  chunk.actions = processor_.unnormalize(chunk.normalized, inputs.state);
  return chunk;
}

ActionChunk Policy::predict(const schema::Batch& batch, const Tensor& noise, const models::SampleOptions& options) {
  const at::NoGradGuard no_grad;
  ActionChunk chunk;
  chunk.normalized = model_->sample(schema::on_device(batch, device_), noise.to(device_), options).cpu();
  const bool relative = processor_.config().relative.enabled && batch.state.defined();
  chunk.actions =
      processor_.unnormalize(chunk.normalized, relative ? processor_.unnormalize_state(batch.state) : Tensor());
  return chunk;
}

Tensor Policy::act(const data::RawBatch& observations, at::Generator& generator, const models::SampleOptions& options,
                   const Guidance& guidance) {
  if (options.rtc) {
    throw Error(ErrorKind::kUsage, "real-time chunking works on whole chunks, not on single actions", "policy::act",
                "use predict");
  }
  if (queue_.empty()) {
    const Tensor actions = predict(observations, draw_noise(observations.size(), generator), options, guidance).actions;
    for (int64_t t = 0; t < config().n_action_steps; ++t) {
      queue_.push_back(actions.select(1, t));
    }
  }
  Tensor action = queue_.front();
  queue_.pop_front();
  return action;
}

}  // namespace flexor::policy
