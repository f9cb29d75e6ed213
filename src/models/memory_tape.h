#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/memory_ledger.h"

namespace flexor::models {

/// A tensor without values: shape, dtype, whose bytes it holds, and where its gradient would arrive.
struct SketchTensor {
  struct Gradient {
    MemoryLedger::Held bytes;                   ///< that have come so far
    const at::TensorImpl* parameter = nullptr;  ///< of a parameter
  };

  std::vector<int64_t> shape;
  at::ScalarType dtype = at::kFloat;
  MemoryLedger::Held data;
  std::shared_ptr<Gradient> gradient;  ///< null: none is wanted

  bool defined() const { return data != nullptr; }
  double count() const;
  double bytes() const;
  int64_t size(int64_t axis) const;  ///< negative: from the end
};
double sketch_bytes(const std::vector<int64_t>& shape, at::ScalarType dtype);

/// One that an operator of MemoryTape reads.
struct SketchInput {
  const SketchTensor& tensor;
  bool passes = false;  ///< its gradient is the output's itself, not memory of its own
};

/// Bytes of an operator beside inputs, output and gradients.
struct SketchScratch {
  double forward = 0, backward = 0;
  bool keeps_output = false;  ///< for the backward pass
};

/// Told where the imagined computation is, as tensor/param_block.h's BlockObserver is told by a real one.
class SketchObserver {
 public:
  virtual ~SketchObserver() = default;
  virtual void before_block(const at::Tensor& parameter) = 0;     ///< it computes, for the first time or again
  virtual void after_block(const at::Tensor& parameter) = 0;      ///< the forward pass leaves it
  virtual void before_backward(const at::Tensor& parameter) = 0;  ///< gradients of its outputs have come
  /// A parameter got its gradient of this pass. @param bytes  of it
  virtual void on_gradient(const at::TensorImpl* parameter, MemoryLedger::Held bytes) = 0;
};

/// Autograd without values: what operators keep for the backward pass, which gradients are alive at the same time, and
/// what becomes free when, in the order of PyTorch's engine. Operators say what they save and what they need beside
/// their results; C++ scopes say how long the rest lives.
class MemoryTape {
 public:
  explicit MemoryTape(MemoryLedger& ledger) : ledger_(ledger) {}
  MemoryLedger& ledger() { return ledger_; }
  void set_observer(SketchObserver* observer) { observer_ = observer; }

  SketchTensor constant(std::vector<int64_t> shape, at::ScalarType dtype);
  /// A parameter, whose own bytes are counted elsewhere; undefined for an undefined tensor.
  SketchTensor param(const at::Tensor& parameter);

  /// An operator. @param saved  kept until its gradient is computed
  SketchTensor op(std::vector<int64_t> shape, at::ScalarType dtype, std::initializer_list<SketchInput> inputs,
                  std::vector<MemoryLedger::Held> saved = {}, const SketchScratch& scratch = {});
  /// The same bytes in another shape.
  SketchTensor view(const SketchTensor& x, std::vector<int64_t> shape);
  /// A part of x: its gradient is a whole tensor of zeros around it.
  SketchTensor narrow(const SketchTensor& x, int64_t axis, int64_t length);

  using Tensors = std::vector<SketchTensor>;
  using Body = std::function<Tensors(const Tensors&)>;
  /// As nn::run_block().
  Tensors run_block(const at::Tensor& parameter, const Body& body, const Tensors& inputs, bool recompute);
  /// Runs `body` without a graph.
  template <typename F>
  auto without_graph(const F& body) {
    const bool before = std::exchange(recording_, false);
    auto result = body();
    recording_ = before;
    return result;
  }
  void backward(const SketchTensor& loss);

  /// What blocks that compute again need: lives until the backward pass is over.
  void keep(std::shared_ptr<void> owner) { owners_.push_back(std::move(owner)); }
  /// Called when a block has computed again, before its gradients are.
  void set_recomputed(std::function<void()> call) { recomputed_ = std::move(call); }

 private:
  struct Step {
    std::vector<std::shared_ptr<SketchTensor::Gradient>> outputs;
    std::function<void()> back;
    size_t block;
  };

  bool wants(const SketchTensor& tensor) const { return recording_ && tensor.gradient != nullptr; }
  void accumulate(SketchTensor::Gradient& gradient, const MemoryLedger::Held& bytes);
  void run_back(std::vector<Step> steps);
  Tensors checkpoint(const Body& body, const Tensors& inputs);
  void recompute(const Body& body, const Tensors& inputs, const std::vector<MemoryLedger::Held>& gradients);

  MemoryLedger& ledger_;
  SketchObserver* observer_ = nullptr;
  bool recording_ = true;
  std::vector<Step> steps_;
  std::vector<std::shared_ptr<void>> owners_;
  std::function<void()> recomputed_;
  std::unordered_map<const at::TensorImpl*, std::shared_ptr<SketchTensor::Gradient>> parameters_;
  std::unordered_map<const at::TensorImpl*, MemoryLedger::Held> gradients_;  ///< without an observer
};

}  // namespace flexor::models
