#include "models/flow_policy.h"

#include "models/batch_check.h"
#include "models/joint_transformer.h"
#include "models/prefix.h"
#include "models/suffix.h"
#include "nn/autocast.h"
#include "tensor/tap.h"
#include "tensor/tensor.h"

namespace flexor::models {

FlowPolicy::FlowPolicy(const schema::PolicyConfig& config, const ComputeOptions& options)
    : config_(config), options_(options), net_(make_flow_net(config)) {
  options_.autocast = options_.autocast || config.dtype == "bfloat16_autocast";
  options_.gradient_checkpointing = options_.gradient_checkpointing || config.gradient_checkpointing;
}

/// The last T suffix tokens as velocities. @param suffix_out  [B, S, W]  @return [B, T, A]
Tensor FlowPolicy::project_out(const Tensor& suffix_out) const {
  const int64_t T = config_.chunk_size;
  const Tensor actions = suffix_out.narrow(1, suffix_out.size(1) - T, T);
  tap("suffix_out", actions);
  return net_.action_out_proj(actions.to(at::kFloat));
}

// Axes: B batch, T horizon, A padded action dims.
LossOutput FlowPolicy::loss(const schema::Batch& batch, const Tensor& noise, const Tensor& time) {
  check_batch(batch, config_, /*training=*/true);
  const int64_t B = batch.size();
  check_input(noise, at::kFloat, {B, config_.chunk_size, config_.max_action_dim}, "noise [B, T, max_action_dim]");
  check_input(time, at::kFloat, {B}, "time [B]");
  const nn::AutocastGuard autocast(noise.device().type(), options_.autocast);

  const Tensor actions = pad_last(batch.action, config_.max_action_dim);
  const Tensor t = time.view({B, 1, 1});
  const Tensor x_t = t * noise + (1 - t) * actions, u_t = noise - actions;
  const Prefix prefix = embed_prefix(net_, batch, config_, options_);
  const Tensor time_emb = embed_time(net_, time, config_);
  const Tensor suffix = embed_suffix(net_, x_t, time_emb, embed_state(net_, batch.state, config_));
  const Tensor condition = net_.is_pi05 ? time_emb : Tensor();
  const Tensor v_t = project_out(run_joint(net_, prefix, suffix, condition, options_));

  const Tensor elements = (u_t - v_t.to(at::kFloat)).square();  // [B, T, A]
  const Tensor real = elements.narrow(2, 0, config_.action_dim());
  const LossOutput out{real.mean(), real.detach().mean({1, 2}), real.detach().mean({0, 1}), elements};
  if (tap_active()) {
    tap("x_t", x_t);
    tap("u_t", u_t);
    tap("prefix_embs", prefix.embs);
    tap("suffix_embs", suffix);
    if (net_.is_pi05) {
      tap("adarms_cond", condition);
    }
    tap("v_t", v_t);
    tap("loss_elements", elements);
    tap("loss", out.loss);
    tap("loss_per_sample", out.per_sample);
    tap("loss_per_dim", out.per_dim);
  }
  return out;
}

std::unique_ptr<PolicyModel> make_policy(const schema::PolicyConfig& config, ComputeOptions options) {
  return std::make_unique<FlowPolicy>(config, options);
}

}  // namespace flexor::models
