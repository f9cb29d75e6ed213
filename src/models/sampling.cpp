// Euler integration of the velocity field from noise to actions.
#include <string>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/str_cat.h"
#include "models/batch_check.h"
#include "models/flow_policy.h"
#include "models/guidance.h"
#include "models/joint_transformer.h"
#include "models/prefix.h"
#include "models/rtc.h"
#include "models/suffix.h"
#include "nn/autocast.h"
#include "tensor/tap.h"
#include "tensor/tensor.h"

namespace flexor::models {
namespace {

/// Times of all Euler steps, formed in double as the reference forms them: 1 + s * (-1/n).
std::vector<double> step_times(int64_t num_steps) {
  const double dt = -1.0 / static_cast<double>(num_steps);
  std::vector<double> times;
  times.reserve(num_steps);
  for (int64_t s = 0; s < num_steps; ++s) {
    times.push_back(1.0 + static_cast<double>(s) * dt);
  }
  return times;
}

/// The modulations of one step out of those of all steps, for every row of the batch.
Modulations select_step(const Modulations& all, int64_t step, int64_t batch) {
  const auto pick = [&](const Tensor& m) { return m.defined() ? m.narrow(0, step, 1).expand({batch, -1}) : m; };
  Modulations one{{}, {}, pick(all.final)};
  for (size_t i = 0; i < all.input.size(); ++i) {
    one.input.push_back(pick(all.input[i]));
    one.post_attention.push_back(pick(all.post_attention[i]));
  }
  return one;
}

/// The velocity field of one observation batch: prefix cached, and everything embedded that does not depend on x.
/// Axes: B observations, R rows of all branches, S suffix tokens, T horizon, A padded action dims, W expert width.
class VelocityField {
 public:
  VelocityField(FlowNet& net, const Branches& branches, const std::vector<double>& times,
                const schema::PolicyConfig& config, const ComputeOptions& options)
      : net_(net),
        branches_(branches),
        options_(options),
        horizon_(config.chunk_size),
        suffix_tokens_(net.is_pi05 ? horizon_ : horizon_ + 1),
        cache_(run_prefix(net, embed_prefix(net, branches.batch, config, options), suffix_tokens_, options)),
        plan_(plan_suffix(net, cache_, suffix_tokens_, options)),
        state_emb_(embed_state(net, branches.batch.state, config)) {
    const at::Device device = branches.batch.tokens.device();
    time_embs_ = embed_time(net, at::tensor(times, at::kDouble).to(at::kFloat).to(device), config);
    modulations_ = make_modulations(net, net.is_pi05 ? time_embs_ : Tensor());
  }

  /// @param x  [B, T, A]  @return float32, shape of x
  Tensor operator()(const Tensor& x, int64_t step) {
    const Tensor time_emb = time_embs_.narrow(0, step, 1).expand({x.size(0), -1});
    const Tensor suffix = branches_.spread(embed_suffix(net_, x, time_emb, state_emb_));  // [R, S, W]
    const Modulations modulations = select_step(modulations_, step, suffix.size(0));
    const Tensor out = run_suffix(net_, cache_, plan_, suffix, modulations, options_);
    const Tensor actions = out.narrow(1, suffix_tokens_ - horizon_, horizon_).to(at::kFloat);
    return branches_.mix(net_.action_out_proj(actions).to(at::kFloat));
  }

 private:
  FlowNet& net_;
  const Branches& branches_;
  const ComputeOptions& options_;
  int64_t horizon_, suffix_tokens_;
  PrefixCache cache_;
  SuffixPlan plan_;
  Tensor state_emb_, time_embs_;  // [B, 1, W] or undefined, [n, W]
  Modulations modulations_;       // of all n steps
};

}  // namespace

// Axes: B batch, T horizon, A padded action dims, n steps.
Tensor FlowPolicy::sample(const schema::Batch& batch, const Tensor& noise, const SampleOptions& options) {
  const at::NoGradGuard no_graph;
  check_batch(batch, config_, /*training=*/false);
  const int64_t B = batch.size(), n = options.num_steps;
  check_input(noise, at::kFloat, {B, config_.chunk_size, config_.max_action_dim}, "noise [B, T, max_action_dim]");
  if (n < 1) {
    throw Error(ErrorKind::kConfig, str_cat("num_steps is ", n, ", at least 1 is needed"), "num_steps");
  }
  const nn::AutocastGuard autocast(noise.device().type(), options_.autocast);
  const std::vector<double> times = step_times(n);
  const Branches branches = plan_branches(batch, options.guided, config_);
  VelocityField velocity(net_, branches, times, config_, options_);
  std::optional<RtcGuide> guide;
  if (options.rtc && options.rtc->config.enabled && options.rtc->prev_chunk_left_over.defined()) {
    guide.emplace(*options.rtc, noise);
  }

  Tensor x = noise;
  for (int64_t s = 0; s < n; ++s) {
    check_interrupt();
    Tensor v = velocity(x, s);
    if (guide) {
      v = (*guide)(x, v, times[s]);
    }
    if (tap_active()) {
      tap("sample_x." + std::to_string(s), x);
      tap("sample_v." + std::to_string(s), v);
    }
    x = x + v * (-1.0 / static_cast<double>(n));
  }
  tap("sampled_actions", x);
  tap("predict_action_chunk", x.narrow(2, 0, config_.action_dim()));
  return x;
}

}  // namespace flexor::models
