#pragma once
#include <ATen/core/Tensor.h>
#include <vector>

#include "models/flow_net.h"
#include "models/policy_model.h"
#include "models/prefix.h"
#include "nn/rope.h"

namespace flexor::models {

// The two Gemma stacks run side by side, layer by layer. Prefix tokens never see suffix tokens, so the prefix can also
// run alone, once, and leave its keys and values for any number of suffix passes. Axes: B batch, P prefix tokens, S
// suffix tokens, D VLM width, W expert width, K kv heads, E head_dim.

/// Keys and values of the prefix in every layer, with room for the suffix behind them.
struct PrefixCache {
  std::vector<nn::GemmaLayer::KeyValue> layers;  ///< k (after RoPE), v: [B, P + S, K, E]; the last S rows are scratch
  at::Tensor pad;                                ///< [B, P]
  bool all_real = false;
};

/// Modulations of the expert's adaptive norms for one condition, in the order they are used; empty for pi0.
struct Modulations {
  std::vector<at::Tensor> input, post_attention;  ///< per layer [B, 3 W]
  at::Tensor final;                               ///< [B, 3 W]
};

/// @param condition  [B, W], undefined for pi0
Modulations make_modulations(const FlowNet& net, const at::Tensor& condition);

/// dtype of the residual streams.
at::ScalarType compute_dtype(const FlowNet& net, const ComputeOptions& options);

/// Both streams together, for training. @param suffix  [B, S, W]  @param condition  [B, W] or undefined
/// @return the suffix after the expert's final norm, [B, S, W]
/// Taps: pad_masks, att_masks, att_2d_masks, position_ids, layer_first.*, layer_last.*.
at::Tensor run_joint(FlowNet& net, const Prefix& prefix, const at::Tensor& suffix, const at::Tensor& condition,
                     const ComputeOptions& options);

/// The prefix alone. @param suffix_tokens  S, rows to reserve
PrefixCache run_prefix(FlowNet& net, const Prefix& prefix, int64_t suffix_tokens, const ComputeOptions& options);

/// What does not change from one suffix pass to the next.
struct SuffixPlan {
  nn::RopeTable rope;
  at::Tensor mask;  ///< [B, 1, 1 or S, P + S] float32, or undefined when every key is visible to all
};
SuffixPlan plan_suffix(const FlowNet& net, const PrefixCache& cache, int64_t suffix_tokens,
                       const ComputeOptions& options);

/// The suffix alone, reading the cache. @return [B, S, W] after the final norm
at::Tensor run_suffix(const FlowNet& net, PrefixCache& cache, const SuffixPlan& plan, const at::Tensor& suffix,
                      const Modulations& modulations, const ComputeOptions& options);

}  // namespace flexor::models
