#pragma once
#include <ATen/core/Tensor.h>
#include <string>
#include <string_view>

namespace flexor::nn {

struct Linear;

/// Walks the parameters of a model in the order of the reference's module definition (which numbers the entries of
/// LeRobot's optimizer_state.safetensors). Load, save, init, count, freeze, optimizer, EMA and LoRA all visit this
/// list. A block lists its own: `void params(ParamVisitor& v) { v("weight", weight); v.scope("mlp", mlp); }`.
class ParamVisitor {
 public:
  virtual ~ParamVisitor() = default;

  void operator()(std::string_view name, at::Tensor& parameter) { visit(prefix_ + std::string(name), parameter); }
  /// Called by every Linear before its parameters; what LoRA attaches to and merges.
  void linear(Linear& block) { visit_linear(prefix_, block); }

  template <typename Block>
  void scope(std::string_view name, Block& block) {
    const size_t length = prefix_.size();
    prefix_ += name;
    prefix_ += '.';
    block.params(*this);
    prefix_.resize(length);
  }

 protected:
  /// @param name  full name as in a LeRobot-trained file, without the leading "model."
  virtual void visit(const std::string& name, at::Tensor& parameter) = 0;
  /// @param scope  full name of the block with a trailing dot: "action_in_proj."
  virtual void visit_linear(const std::string& scope, Linear& block) {
    (void)scope;
    (void)block;
  }

 private:
  std::string prefix_;
};

}  // namespace flexor::nn
