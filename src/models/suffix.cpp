#include "models/suffix.h"

#include <ATen/ops/constant_pad_nd.h>

#include "nn/time_embedding.h"
#include "tensor/tensor.h"

namespace flexor::models {

Tensor pad_last(const Tensor& tensor, int64_t size) {
  return tensor.size(-1) == size ? tensor : at::constant_pad_nd(tensor, {0, size - tensor.size(-1)}, 0);
}

Tensor embed_time(const FlowNet& net, const Tensor& time, const schema::PolicyConfig& config) {
  const int64_t W = net.action_in_proj.weight.size(0);
  const Tensor embedding = nn::time_embedding(time, W, config.min_period, config.max_period);  // [B, W]
  return net.is_pi05 ? at::silu(net.time_mlp_out(at::silu(net.time_mlp_in(embedding)))) : embedding;
}

Tensor embed_state(const FlowNet& net, const Tensor& state, const schema::PolicyConfig& config) {
  return net.is_pi05 ? Tensor() : net.state_proj(pad_last(state, config.max_state_dim)).unsqueeze(1);
}

Tensor embed_suffix(const FlowNet& net, const Tensor& x_t, const Tensor& time_emb, const Tensor& state_emb) {
  const Tensor actions = net.action_in_proj(x_t);  // [B, T, W]
  if (net.is_pi05) {
    return actions;
  }
  const Tensor mixed = at::cat({actions, time_emb.unsqueeze(1).expand_as(actions)}, -1);  // action first
  const Tensor tokens = net.action_time_mlp_out(at::silu(net.action_time_mlp_in(mixed)));
  return at::cat({state_emb, tokens}, 1);
}

}  // namespace flexor::models
