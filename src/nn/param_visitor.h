#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

namespace flexor::nn {

/// Walks the parameters of a model in the order of the reference's module definition (which numbers the entries of
/// LeRobot's optimizer_state.safetensors). Load, save, init, count, freeze, optimizer, EMA and LoRA all visit this list.
/// A block lists its own: `void params(ParamVisitor& v) { v("weight", weight); v.scope("mlp", mlp); }`.
class ParamVisitor {
 public:
  virtual ~ParamVisitor() = default;

  void operator()(std::string_view name, at::Tensor& parameter) { visit(prefix_ + std::string(name), parameter); }

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

 private:
  std::string prefix_;
};

}  // namespace flexor::nn
