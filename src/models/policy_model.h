#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "nn/param_visitor.h"
#include "schema/batch.h"
#include "schema/policy_config.h"
#include "tensor/param_block.h"

namespace flexor::models {

/// How a model computes; none of it changes what is learned beyond rounding, except `dtype`.
struct ComputeOptions {
  bool exact_savings = true;  ///< skip masked-out cameras, common padding and what the last VLM layer computes unread
  /// attention.impl: fused (attention and elementwise chains in few passes over memory) or exact (the reference's
  /// operators one by one, with its roundings)
  bool fused_attention = true;
  bool reference_rope = true;  ///< bf16 mode: frequencies rounded to bf16 as LeRobot does, or exact
  bool autocast = false;       ///< run the forward pass under bf16 autocast (policy.dtype: bfloat16_autocast)
  bool gradient_checkpointing = false;
};

/// Result of one training forward. Axes: B batch, T horizon, A real action dims.
struct LossOutput {
  at::Tensor loss;        ///< scalar float32, mean over everything
  at::Tensor per_sample;  ///< [B], detached
  at::Tensor per_dim;     ///< [A], detached
  /// [B, T, max_action_dim] float32 with a graph: squared errors, padded dims too. Their mean is the loss of openpi and
  /// RLinf, which `loss` (LeRobot's) is not.
  at::Tensor elements = {};
};

/// Guidance by the rest of the previous chunk (real-time chunking, arXiv:2506.07339; LeRobot's form without Jacobian).
struct RtcArguments {
  at::Tensor prev_chunk_left_over;  ///< [B, P, A] normalised, model space
  int64_t inference_delay = 0;
  std::optional<int64_t> execution_horizon;  ///< default: the config's
  schema::RtcConfig config;
};

/// A second prompt for classifier-free guidance (arXiv:2207.12598): the velocity is (1 - w) v_plain + w v_guided, with
/// v_plain of the batch's own prompt. Both run in one batch; with w = 0 or 1 only the prompt that counts runs.
struct GuidedPrompt {
  at::Tensor tokens;    ///< [B, L'] int64; L' may differ from the batch's prompt length
  at::Tensor mask;      ///< [B, L'] bool, true = real token
  double weight = 1.0;  ///< w, finite; above 1 extrapolates
};

struct SampleOptions {
  int64_t num_steps = 10;
  std::optional<RtcArguments> rtc = std::nullopt;
  std::optional<GuidedPrompt> guided = std::nullopt;
};

/// A policy that learns a velocity field over action chunks: pi0 or pi0.5. Not thread-safe.
class PolicyModel {
 public:
  virtual ~PolicyModel() = default;

  virtual const schema::PolicyConfig& config() const = 0;
  virtual ComputeOptions& options() = 0;
  /// Parameters in LeRobot's order, named without the leading "model.".
  virtual void params(nn::ParamVisitor& visitor) = 0;
  /// The order in which loss() goes through them.
  virtual ModelBlocks blocks() const = 0;

  /// Flow-matching loss. @param noise [B, T, max_action_dim] float32  @param time [B] float32 in (0, 1]
  /// @throws Error(kData) if a batch tensor does not fit the configuration
  virtual LossOutput loss(const schema::Batch& batch, const at::Tensor& noise, const at::Tensor& time) = 0;

  /// Actions by Euler steps from `noise` [B, T, max_action_dim]; result [B, T, max_action_dim] float32, normalised.
  /// With `guided` and `rtc` both, the previous chunk guides the mixed velocity.
  /// @throws Error(kData) for tensors that do not fit, Error(kConfig) for num_steps < 1 or a weight that is not finite;
  ///         Error(kInterrupted), Error(kTerminated) between two steps after a signal
  virtual at::Tensor sample(const schema::Batch& batch, const at::Tensor& noise, const SampleOptions& options) = 0;
};

/// A model with uninitialised (empty) parameters of `config.dtype` in LeRobot's mixed-precision layout; fill them with
/// load_weights() or init_weights(). @throws Error(kConfig) if the sizes contradict each other
std::unique_ptr<PolicyModel> make_policy(const schema::PolicyConfig& config, ComputeOptions options = {});

}  // namespace flexor::models
