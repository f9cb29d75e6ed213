// Euler integration of the velocity field from noise to actions.
#include <string>

#include "base/error.h"
#include "base/str_cat.h"
#include "models/batch_check.h"
#include "models/flow_policy.h"
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

/// The modulations of one step out of those of all steps, for every sample of the batch.
Modulations select_step(const Modulations& all, int64_t step, int64_t batch) {
  const auto pick = [&](const Tensor& m) { return m.defined() ? m.narrow(0, step, 1).expand({batch, -1}) : m; };
  Modulations one{{}, {}, pick(all.final)};
  for (size_t i = 0; i < all.input.size(); ++i) {
    one.input.push_back(pick(all.input[i]));
    one.post_attention.push_back(pick(all.post_attention[i]));
  }
  return one;
}

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
  const int64_t S = net_.is_pi05 ? config_.chunk_size : config_.chunk_size + 1;
  PrefixCache cache = run_prefix(net_, embed_prefix(net_, batch, config_, options_), S, options_);
  const SuffixPlan plan = plan_suffix(net_, cache, S, options_);

  // Neither times nor state depend on x: embed them once for all steps.
  const std::vector<double> times = step_times(n);
  const Tensor time = at::tensor(times, at::kDouble).to(at::kFloat).to(noise.device());
  const Tensor time_embs = embed_time(net_, time, config_);  // [n, W]
  const Modulations modulations = make_modulations(net_, net_.is_pi05 ? time_embs : Tensor());
  const Tensor state_emb = embed_state(net_, batch.state, config_);
  std::optional<RtcGuide> guide;
  if (options.rtc && options.rtc->config.enabled && options.rtc->prev_chunk_left_over.defined()) {
    guide.emplace(*options.rtc, noise);
  }

  Tensor x = noise;
  for (int64_t s = 0; s < n; ++s) {
    const Tensor suffix = embed_suffix(net_, x, time_embs.narrow(0, s, 1).expand({B, -1}), state_emb);
    const Tensor out = run_suffix(net_, cache, plan, suffix, select_step(modulations, s, B), options_);
    Tensor v =
        net_.action_out_proj(out.narrow(1, S - config_.chunk_size, config_.chunk_size).to(at::kFloat)).to(at::kFloat);
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
