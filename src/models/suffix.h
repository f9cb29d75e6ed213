#pragma once
#include <ATen/core/Tensor.h>

#include "models/flow_net.h"
#include "schema/policy_config.h"

namespace flexor::models {

/// What pi0 and pi0.5 do differently in front of the expert. Axes: B batch, T horizon, A action dims, W expert width.

/// pi0.5: the condition of all adaptive norms, [B, W]; pi0: the plain time embedding.
at::Tensor embed_time(const FlowNet& net, const at::Tensor& time, const schema::PolicyConfig& config);

/// pi0: the state token [B, 1, W]; pi0.5: undefined.  @param state  [B, S], padded here to max_state_dim
at::Tensor embed_state(const FlowNet& net, const at::Tensor& state, const schema::PolicyConfig& config);

/// The suffix: pi0 state, then actions mixed with the time, [B, T + 1, W]; pi0.5 actions only, [B, T, W].
/// @param x_t  [B, T, A]  @param time_emb  what embed_time gave  @param state_emb  what embed_state gave
at::Tensor embed_suffix(const FlowNet& net, const at::Tensor& x_t, const at::Tensor& time_emb,
                        const at::Tensor& state_emb);

/// `tensor` with zeros appended to its last axis.
at::Tensor pad_last(const at::Tensor& tensor, int64_t size);

}  // namespace flexor::models
