#include "nn/checkpoint.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <string>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>
#include <utility>

#include "base/error.h"
#include "tensor/tensor.h"

namespace flexor::nn {
namespace {

using torch::autograd::Node;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

bool wants_gradient(const Tensor& tensor) {
  return tensor.defined() && tensor.requires_grad();
}

std::vector<SavedVariable> save(const Tensors& tensors) {
  std::vector<SavedVariable> saved;
  saved.reserve(tensors.size());
  for (const Tensor& tensor : tensors) {
    saved.emplace_back(tensor, /*is_output=*/false);
  }
  return saved;
}

Tensors unpack(std::vector<SavedVariable>& saved) {
  Tensors tensors;
  tensors.reserve(saved.size());
  for (SavedVariable& variable : saved) {
    tensors.push_back(variable.unpack());
  }
  return tensors;
}

/// What a backward pass read is released after it: a second one has nothing to work on.
void check_not_released(bool released, const char* function) {
  if (released) {
    throw Error(ErrorKind::kRuntime, "a second backward pass through a graph that the first one released", function,
                "compute the loss again, or keep the graph in the first backward pass");
  }
}

/// Autocast of one device: read, and set for the time of a scope.
class AutocastState {
 public:
  explicit AutocastState(c10::DeviceType device)
      : device_(device),
        enabled_(at::autocast::is_autocast_enabled(device)),
        cache_(at::autocast::is_autocast_cache_enabled()),
        dtype_(at::autocast::get_autocast_dtype(device)) {}
  void apply() const {
    at::autocast::set_autocast_enabled(device_, enabled_);
    at::autocast::set_autocast_dtype(device_, dtype_);
    at::autocast::set_autocast_cache_enabled(cache_);
  }

 private:
  c10::DeviceType device_;
  bool enabled_, cache_;
  at::ScalarType dtype_;
};

/// Restores random state and autocast at the end of a recomputation, an exception included.
struct RecomputeGuard {
  RecomputeGuard(at::Generator generator, const Tensor& state, const AutocastState& autocast, c10::DeviceType device)
      : generator_(std::move(generator)), rng_before_(generator_.get_state()), autocast_before_(device) {
    generator_.set_state(state);
    autocast.apply();
  }
  ~RecomputeGuard() {
    at::autocast::clear_cache();  // a cast made here must not outlive this graph
    autocast_before_.apply();
    generator_.set_state(rng_before_);
  }
  RecomputeGuard(const RecomputeGuard&) = delete;
  RecomputeGuard& operator=(const RecomputeGuard&) = delete;

  at::Generator generator_;
  Tensor rng_before_;
  AutocastState autocast_before_;
};

struct CheckpointNode : Node {
  CheckpointNode(c10::Device where, Tensor rng_state)
      : device(where), rng(std::move(rng_state)), autocast(where.type()) {}

  std::function<Tensors(const Tensors&)> block;
  c10::Device device;
  Tensor rng;
  AutocastState autocast;
  std::vector<SavedVariable> inputs;
  std::vector<bool> needs;

  variable_list apply(variable_list&& grads) override {
    check_not_released(block == nullptr, "nn::checkpoint");
    Tensors in;
    in.reserve(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor input = inputs[i].unpack();
      in.push_back(input.defined() ? input.detach().set_requires_grad(needs[i]) : input);
    }
    Tensors outputs;
    {
      const at::AutoGradMode with_graph(true);
      const RecomputeGuard guard(at::globalContext().defaultGenerator(device), rng, autocast, device.type());
      outputs = block(in);
    }
    variable_list roots, root_grads;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (wants_gradient(outputs[i]) && grads[i].defined()) {
        roots.push_back(outputs[i]);
        root_grads.push_back(grads[i]);
      }
    }
    if (!roots.empty()) {
      torch::autograd::backward(roots, root_grads);  // re-entrant; fills .grad of the captured weights
    }
    variable_list result;
    result.reserve(in.size());
    for (const Tensor& tensor : in) {
      result.push_back(wants_gradient(tensor) ? tensor.grad() : Tensor());
    }
    return result;
  }
  void release_variables() override {
    inputs.clear();
    block = nullptr;
  }
  std::string name() const override { return "FlexorCheckpoint"; }
};

struct CustomNode : Node {
  std::function<Tensors(const Tensor&, const Tensors&, const std::vector<bool>&)> backward;
  std::vector<SavedVariable> saved;
  std::vector<bool> needs;
  bool released = false;

  variable_list apply(variable_list&& grads) override {
    check_not_released(released, "nn::custom_gradient");
    if (!grads[0].defined()) {
      return variable_list(needs.size());
    }
    return backward(grads[0], unpack(saved), needs);
  }
  void release_variables() override {
    saved.clear();
    released = true;
  }
  std::string name() const override { return "FlexorCustom"; }
};

}  // namespace

Tensors checkpoint(const std::function<Tensors(const Tensors&)>& block, const Tensors& inputs) {
  if (!at::GradMode::is_enabled()) {
    return block(inputs);
  }
  const c10::Device device = inputs.at(0).device();
  auto node = c10::make_intrusive<CheckpointNode>(device, at::globalContext().defaultGenerator(device).get_state());
  Tensors outputs;
  {
    const at::NoGradGuard no_graph;
    outputs = block(inputs);
  }
  for (const Tensor& input : inputs) {
    node->needs.push_back(wants_gradient(input));
  }
  node->inputs = save(inputs);
  node->block = block;
  node->set_next_edges(torch::autograd::collect_next_edges(inputs));
  for (Tensor& output : outputs) {
    if (!output.defined()) {
      node->add_input_metadata(Node::undefined_input());
      continue;
    }
    output = output.detach();
    const uint32_t index = node->add_input_metadata(output);
    torch::autograd::impl::set_gradient_edge(output, {node, index});
  }
  return outputs;
}

Tensor custom_gradient(const Tensors& inputs, const Tensors& saved,
                       const std::function<Tensor(const Tensors&, const Tensors&)>& forward,
                       std::function<Tensors(const Tensor&, const Tensors&, const std::vector<bool>&)> backward) {
  Tensor output;
  {
    const at::NoGradGuard no_graph;
    output = forward(inputs, saved);
  }
  bool any = false;
  std::vector<bool> needs;
  for (const Tensor& input : inputs) {
    needs.push_back(wants_gradient(input));
    any = any || needs.back();
  }
  if (!any || !at::GradMode::is_enabled()) {
    return output;
  }
  auto node = c10::make_intrusive<CustomNode>();
  node->backward = std::move(backward);
  node->needs = std::move(needs);
  node->saved = save(saved);
  node->set_next_edges(torch::autograd::collect_next_edges(inputs));
  output = output.detach();
  const uint32_t index = node->add_input_metadata(output);
  torch::autograd::impl::set_gradient_edge(output, {node, index});
  return output;
}

Tensor with_zero_gradient(const Tensor& x, const Tensor& weight) {
  return custom_gradient(
      {x, weight}, {weight}, [](const Tensors& in, const Tensors&) { return in[0].alias(); },
      [](const Tensor& grad, const Tensors& saved, const std::vector<bool>&) {
        return Tensors{grad, at::zeros_like(saved[0])};
      });
}

}  // namespace flexor::nn
