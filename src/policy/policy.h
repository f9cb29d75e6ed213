#pragma once
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "data/processor.h"
#include "data/raw_batch.h"
#include "models/policy_model.h"
#include "policy/guidance.h"

namespace flexor::policy {

/// How a policy folder is opened.
struct PolicyOptions {
  at::Device device = at::kCPU;
  std::optional<std::string> dtype;  ///< float32, bfloat16 or bfloat16_autocast; none: as the folder's config.json says
  std::string tokenizer_path;        ///< file or folder; empty: from the policy's folder
  std::string norm_stats;            ///< openpi's norm_stats.json, beats the stored statistics; empty: the stored ones
  models::ComputeOptions compute;
};

/// One chunk of actions per observation, on the CPU. Axes: B batch, T action horizon.
struct ActionChunk {
  at::Tensor normalized;  ///< [B, T, max_action_dim] float32, as the model gives them
  at::Tensor actions;     ///< [B, T, A] float32, physical units; A = real action dims
};

/// From observation to action chunk: processors, model and sampling of one `pretrained_model` folder. Not thread-safe.
class Policy {
 public:
  /// Opens a folder that LeRobot or Flexor wrote (config.json, model.safetensors, processor files, tokenizer), or an
  /// openpi PyTorch checkpoint with `assets/<id>/norm_stats.json`.
  /// @throws Error(kFile), Error(kCheckpoint), Error(kData) for what is missing or does not fit
  static Policy open(const std::string& folder, const PolicyOptions& options = {});

  /// @param training  how the policy was trained with labels, if that is known
  Policy(std::unique_ptr<models::PolicyModel> model, data::Processor processor, at::Device device,
         std::optional<LabelTraining> training = std::nullopt);

  models::PolicyModel& model() { return *model_; }
  const data::Processor& processor() const { return processor_; }
  const schema::PolicyConfig& config() const { return model_->config(); }
  const at::Device& device() const { return device_; }

  /// Noise to start sampling from: [batch_size, T, max_action_dim] float32, drawn on the CPU, moved to the device.
  at::Tensor draw_noise(int64_t batch_size, at::Generator& generator) const;

  /// Sampling options with the configuration's number of steps.
  models::SampleOptions default_sampling() const;

  const std::optional<LabelTraining>& label_training() const { return training_; }

  /// The labelled prompts of observations, with their state where the policy's prompts hold it; nothing without
  /// guidance. @throws Error(kUsage) as check_guidance(), Error(kData) if a prompt with its label is too long
  std::optional<models::GuidedPrompt> guided_prompt(const data::RawBatch& observations, const Guidance& guidance) const;

  /// Action chunks for raw observations. @param noise as draw_noise gives
  /// @param guidance  off: `options.guided` is used as it is
  ActionChunk predict(const data::RawBatch& observations, const at::Tensor& noise, const models::SampleOptions& options,
                      const Guidance& guidance = {});
  /// Action chunks for model-side tensors (normalised, tokenised; pictures raw).
  ActionChunk predict(const schema::Batch& batch, const at::Tensor& noise, const models::SampleOptions& options);

  /// Next action [B, A] in physical units: a chunk is sampled when the queue is empty, and its first n_action_steps
  /// are handed out one per call (the reference's select_action).
  /// @throws Error(kUsage) with real-time chunking, which needs whole chunks
  at::Tensor act(const data::RawBatch& observations, at::Generator& generator, const models::SampleOptions& options,
                 const Guidance& guidance = {});
  /// Forgets the queued actions: call it when an episode starts.
  void reset() { queue_.clear(); }

 private:
  std::unique_ptr<models::PolicyModel> model_;
  data::Processor processor_;
  at::Device device_;
  std::optional<LabelTraining> training_;
  std::deque<at::Tensor> queue_;
};

}  // namespace flexor::policy
