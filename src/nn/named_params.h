#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "nn/param_visitor.h"

namespace flexor::nn {

/// Calls a function for every parameter, in order.
class ForEachParam : public ParamVisitor {
 public:
  using Body = std::function<void(const std::string& name, at::Tensor& parameter)>;
  explicit ForEachParam(Body body) : body_(std::move(body)) {}

 protected:
  void visit(const std::string& name, at::Tensor& parameter) override { body_(name, parameter); }

 private:
  Body body_;
};

/// Calls a function for every linear layer, in order; the name has no trailing dot ("action_in_proj").
class ForEachLinear : public ParamVisitor {
 public:
  using Body = std::function<void(const std::string& name, Linear& layer)>;
  explicit ForEachLinear(Body body) : body_(std::move(body)) {}

 protected:
  void visit(const std::string&, at::Tensor&) override {}
  void visit_linear(const std::string& scope, Linear& block) override {
    body_(scope.substr(0, scope.size() - 1), block);
  }

 private:
  Body body_;
};

/// `Owner` is a block or a PolicyModel: anything with params(ParamVisitor&).
template <typename Owner>
void for_each_param(Owner& owner, ForEachParam::Body body) {
  ForEachParam visitor(std::move(body));
  owner.params(visitor);
}
template <typename Owner>
void for_each_linear(Owner& owner, ForEachLinear::Body body) {
  ForEachLinear visitor(std::move(body));
  owner.params(visitor);
}

/// Puts all parameters on a device; they stay what they are otherwise, and nothing is copied that is there already.
/// Call it before anything else holds them.
template <typename Owner>
void move_params(Owner& owner, const at::Device& device) {
  for_each_param(owner, [&](const std::string&, at::Tensor& parameter) {
    if (parameter.device() != device) {
      parameter = parameter.detach().to(device).set_requires_grad(parameter.requires_grad());
    }
  });
}

/// All parameters by name, in order; tensors share storage with the owner's. The position in this list is the index in
/// LeRobot's optimizer_state.safetensors (as long as no LoRA is attached).
template <typename Owner>
std::vector<std::pair<std::string, at::Tensor>> named_params(Owner& owner) {
  std::vector<std::pair<std::string, at::Tensor>> list;
  for_each_param(owner, [&](const std::string& name, at::Tensor& parameter) { list.emplace_back(name, parameter); });
  return list;
}

/// Number of values in all parameters.
template <typename Owner>
int64_t count_params(Owner& owner) {
  int64_t count = 0;
  for_each_param(owner, [&](const std::string&, at::Tensor& parameter) { count += parameter.numel(); });
  return count;
}

/// Whether any parameter of the block is trained.
template <typename Owner>
bool any_trainable(Owner& owner) {
  bool any = false;
  for_each_param(owner, [&](const std::string&, at::Tensor& p) { any = any || (p.defined() && p.requires_grad()); });
  return any;
}

}  // namespace flexor::nn
