#include "models/init.h"

#include <cmath>
#include <string>

#include "nn/named_params.h"
#include "tensor/tensor.h"

namespace flexor::models {
namespace {

/// Inputs of one output value: all axes but the first.
double inputs_of(const Tensor& weight) {
  return static_cast<double>(weight.numel()) / static_cast<double>(weight.size(0));
}

bool is_small_projection(const std::string& name) {
  return !name.starts_with("paligemma_with_expert.") || name.find("multi_modal_projector") != std::string::npos;
}

/// Keeps the variance of SiLU's output, as He's factor does for ReLU: 1 / sqrt(E[silu(x)^2]), x standard normal.
constexpr double kAfterSilu = 1.67;

/// What makes pi0's state and action tokens. With PyTorch's narrower draw they would drown in the residual stream.
bool is_suffix_token(const std::string& name) {
  return name.starts_with("state_proj") || name.starts_with("action_time_mlp");
}

Tensor initial(const std::string& name, const Tensor& parameter, double fan_in, at::Generator& generator) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  Tensor value = at::empty(parameter.sizes(), at::kFloat);
  if (has("norm.dense.weight")) {
    return value.zero_();
  }
  if (has("norm.dense.bias")) {  // scale, shift, gate
    value.zero_().narrow(0, value.size(0) / 3 * 2, value.size(0) / 3).fill_(1.0);
    return value;
  }
  if (has("layer_norm") || has("post_layernorm")) {  // of the vision tower
    return name.ends_with("weight") ? value.fill_(1.0) : value.zero_();
  }
  if (has("norm")) {
    return value.zero_();
  }
  if (is_suffix_token(name)) {
    if (name.ends_with("bias")) {
      return value.zero_();
    }
    return value.normal_(0.0, (name.starts_with("action_time_mlp_out") ? kAfterSilu : 1.0) / std::sqrt(fan_in),
                         generator);
  }
  if (is_small_projection(name)) {
    const double bound = 1.0 / std::sqrt(fan_in);
    return value.uniform_(-bound, bound, generator);
  }
  if (name.ends_with("bias")) {
    return value.zero_();
  }
  const bool table = has("embed_tokens") || has("position_embedding");
  return value.normal_(0.0, 1.0 / std::sqrt(table ? static_cast<double>(value.size(1)) : fan_in), generator);
}

}  // namespace

void init_weights(PolicyModel& model, at::Generator& generator) {
  const at::NoGradGuard no_graph;
  double fan_in = 1.0;  // of the weight that a bias follows
  nn::for_each_param(model, [&](const std::string& name, Tensor& parameter) {
    const bool trained = parameter.requires_grad();
    if (name.ends_with("lm_head.weight")) {
      parameter = at::zeros({1, 1}, parameter.options()).expand(parameter.sizes());
    } else {
      fan_in = parameter.dim() > 1 ? inputs_of(parameter) : fan_in;
      parameter = initial(name, parameter, fan_in, generator).to(parameter.options());
    }
    parameter.set_requires_grad(trained);
  });
}

}  // namespace flexor::models
