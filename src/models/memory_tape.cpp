#include "models/memory_tape.h"

#include <algorithm>
#include <utility>

#include "tensor/tensor.h"

namespace flexor::models {

using Held = MemoryLedger::Held;

double sketch_bytes(const std::vector<int64_t>& shape, at::ScalarType dtype) {
  auto bytes = static_cast<double>(c10::elementSize(dtype));
  for (const int64_t size : shape) {
    bytes *= static_cast<double>(size);
  }
  return bytes;
}

double SketchTensor::count() const {
  return bytes() / static_cast<double>(c10::elementSize(dtype));
}

double SketchTensor::bytes() const {
  return sketch_bytes(shape, dtype);
}

int64_t SketchTensor::size(int64_t axis) const {
  return shape[static_cast<size_t>(axis < 0 ? static_cast<int64_t>(shape.size()) + axis : axis)];
}

SketchTensor MemoryTape::constant(std::vector<int64_t> shape, at::ScalarType dtype) {
  SketchTensor tensor{.shape = std::move(shape), .dtype = dtype, .data = nullptr, .gradient = nullptr};
  tensor.data = ledger_.hold(MemoryUse::kActivations, tensor.bytes());
  return tensor;
}

SketchTensor MemoryTape::param(const at::Tensor& parameter) {
  if (!parameter.defined()) {
    return {};
  }
  SketchTensor tensor{.shape = parameter.sizes().vec(),
                      .dtype = parameter.scalar_type(),
                      .data = ledger_.hold(MemoryUse::kWeights, 0),
                      .gradient = nullptr};
  if (parameter.requires_grad()) {
    std::shared_ptr<SketchTensor::Gradient>& gradient = parameters_[parameter.unsafeGetTensorImpl()];
    if (!gradient) {
      gradient = std::make_shared<SketchTensor::Gradient>();
      gradient->parameter = parameter.unsafeGetTensorImpl();
    }
    tensor.gradient = gradient;
  }
  return tensor;
}

/// A gradient has come: it is kept as it is, or added to the one that is there.
void MemoryTape::accumulate(SketchTensor::Gradient& gradient, const Held& bytes) {
  if (gradient.parameter != nullptr) {
    Held own = bytes.use_count() == 1 ? bytes : ledger_.hold(MemoryUse::kGradients, bytes->count());
    if (observer_ != nullptr) {
      observer_->on_gradient(gradient.parameter, std::move(own));
      return;
    }
    own->become(MemoryUse::kGradients);
    gradients_.try_emplace(gradient.parameter, std::move(own));
    return;
  }
  if (!gradient.bytes) {
    gradient.bytes = bytes;
  } else if (gradient.bytes.use_count() > 1) {  // somebody else reads it: not in place
    gradient.bytes = ledger_.hold(MemoryUse::kActivations, bytes->count());
  }
}

SketchTensor MemoryTape::op(std::vector<int64_t> shape, at::ScalarType dtype, std::initializer_list<SketchInput> inputs,
                            std::vector<Held> saved, const SketchScratch& scratch) {
  SketchTensor out = constant(std::move(shape), dtype);
  if (scratch.forward > 0) {
    ledger_.touch(scratch.forward);
  }
  struct Target {
    std::shared_ptr<SketchTensor::Gradient> gradient;
    double bytes;  // 0: the output's
  };
  std::vector<Target> targets;
  for (const SketchInput& input : inputs) {
    if (wants(input.tensor)) {
      targets.push_back({input.tensor.gradient, input.passes ? 0.0 : input.tensor.bytes()});
    }
  }
  if (targets.empty()) {
    return out;
  }
  out.gradient = std::make_shared<SketchTensor::Gradient>();
  if (scratch.keeps_output) {
    saved.push_back(out.data);
  }
  const auto back = [this, gradient = out.gradient, kept = std::move(saved), targets = std::move(targets),
                     extra = scratch.backward] {
    const Held arrived = std::move(gradient->bytes);
    std::vector<Held> made;
    for (const Target& target : targets) {
      made.push_back(target.bytes > 0 ? ledger_.hold(MemoryUse::kActivations, target.bytes) : arrived);
    }
    if (extra > 0) {
      ledger_.touch(extra);
    }
    for (size_t i = 0; i < targets.size(); ++i) {
      const Held one = std::move(made[i]);
      accumulate(*targets[i].gradient, one);
    }
  };
  steps_.push_back({{out.gradient}, back, ledger_.block()});
  return out;
}

SketchTensor MemoryTape::view(const SketchTensor& x, std::vector<int64_t> shape) {
  SketchTensor out = x;
  out.shape = std::move(shape);
  return out;
}

SketchTensor MemoryTape::narrow(const SketchTensor& x, int64_t axis, int64_t length) {
  std::vector<int64_t> shape = x.shape;
  shape[static_cast<size_t>(axis)] = length;
  SketchTensor out = op(std::move(shape), x.dtype, {{x}});
  out.data = x.data;
  return out;
}

void MemoryTape::run_back(std::vector<Step> steps) {
  while (!steps.empty()) {
    {
      const Step step = std::move(steps.back());
      steps.pop_back();
      if (std::ranges::any_of(step.outputs, [](const auto& output) { return output->bytes != nullptr; })) {
        ledger_.enter(step.block);
        step.back();
      }
    }
  }
}

void MemoryTape::backward(const SketchTensor& loss) {
  loss.gradient->bytes = ledger_.hold(MemoryUse::kActivations, loss.bytes());
  run_back(std::exchange(steps_, {}));
  ledger_.enter(size_t{0});
  owners_.clear();
  recomputed_ = nullptr;
}

MemoryTape::Tensors MemoryTape::checkpoint(const Body& body, const Tensors& inputs) {
  if (!recording_) {
    return body(inputs);
  }
  Tensors outputs = without_graph([&] { return body(inputs); });
  constexpr double kRandomState = 5056;  // bytes of the CPU's generator, kept to draw the same numbers again
  const Held random_state = ledger_.hold(MemoryUse::kActivations, kRandomState);
  Step step{{}, {}, ledger_.block()};
  for (SketchTensor& output : outputs) {
    if (output.defined()) {
      output.gradient = std::make_shared<SketchTensor::Gradient>();
    }
    step.outputs.push_back(output.defined() ? output.gradient : std::make_shared<SketchTensor::Gradient>());
  }
  step.back = [this, body, inputs, random_state, gradients = step.outputs] {
    std::vector<Held> arrived;
    for (const auto& gradient : gradients) {
      arrived.push_back(std::move(gradient->bytes));
    }
    recompute(body, inputs, arrived);
  };
  steps_.push_back(std::move(step));
  return outputs;
}

/// As CheckpointNode::apply(): what it holds it holds to its end.
void MemoryTape::recompute(const Body& body, const Tensors& inputs, const std::vector<Held>& gradients) {
  Tensors detached = inputs;
  for (SketchTensor& input : detached) {
    if (input.gradient) {
      input.gradient = std::make_shared<SketchTensor::Gradient>();
    }
  }
  const std::vector<Step> outer = std::exchange(steps_, {});
  const Tensors outputs = body(detached);
  if (recomputed_) {
    recomputed_();
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].gradient && gradients[i]) {
      accumulate(*outputs[i].gradient, gradients[i]);
    }
  }
  run_back(std::exchange(steps_, outer));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].gradient && detached[i].gradient->bytes) {
      const Held bytes = std::move(detached[i].gradient->bytes);
      accumulate(*inputs[i].gradient, bytes);
    }
  }
}

MemoryTape::Tensors MemoryTape::run_block(const at::Tensor& parameter, const Body& body, const Tensors& inputs,
                                          bool recompute) {
  const Body watched = [this, parameter, body](const Tensors& in) {
    if (observer_ != nullptr) {
      observer_->before_block(parameter);
    }
    return body(in);
  };
  Tensors outputs = recompute ? checkpoint(watched, inputs) : watched(inputs);
  if (observer_ == nullptr) {
    return outputs;
  }
  observer_->after_block(parameter);
  for (SketchTensor& output : outputs) {
    if (output.defined() && wants(output)) {
      const auto inner = output.gradient;
      output.gradient = std::make_shared<SketchTensor::Gradient>();
      steps_.push_back({{output.gradient},
                        [this, parameter, inner, outer = output.gradient] {
                          observer_->before_backward(parameter);
                          const Held bytes = std::move(outer->bytes);
                          accumulate(*inner, bytes);
                        },
                        ledger_.block()});
    }
  }
  return outputs;
}

}  // namespace flexor::models
