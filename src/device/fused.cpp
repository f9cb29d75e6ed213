#include "device/fused.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/linspace.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "device/device.h"
#include "tensor/tensor.h"

namespace flexor::device {
namespace {

constexpr size_t kUses = 3;
constexpr std::array<const char*, kUses> kNames = {"rms_norm", "rope", "geglu"};

/// Those of the device that was tried last.
std::array<std::optional<c10::OperatorHandle>, kUses>& chosen() {
  static std::array<std::optional<c10::OperatorHandle>, kUses> ops;
  return ops;
}

/// Arguments behind those that are given take their defaults.
std::vector<Tensor> call(const c10::OperatorHandle& op, const std::vector<c10::IValue>& arguments) {
  torch::jit::Stack stack(arguments.begin(), arguments.end());
  const auto& declared = op.schema().arguments();
  for (size_t i = arguments.size(); i < declared.size(); ++i) {
    if (!declared[i].default_value()) {
      throw Error(ErrorKind::kRuntime, str_cat("its argument ", declared[i].name(), " has no default"),
                  op.schema().name());
    }
    stack.push_back(*declared[i].default_value());
  }
  op.callBoxed(stack);
  std::vector<Tensor> outputs;
  for (const c10::IValue& value : stack) {
    outputs.push_back(value.toTensor());
  }
  return outputs;
}

/// A small call of a use and what it must give.
struct Trial {
  std::vector<c10::IValue> arguments;
  Tensor expected;  ///< with a graph
};

/// @param wave  [32], the weight of a norm
Trial trial_of(FusedUse use, const Tensor& x, const Tensor& wave) {
  if (use == FusedUse::kRmsNorm) {
    const Tensor x32 = x.to(at::kFloat);
    const Tensor unit = x32 * at::rsqrt(x32.square().mean(-1, /*keepdim=*/true) + 1e-6);
    return {{x, wave, 1e-6}, (unit * wave.to(at::kFloat)).to(x.scalar_type())};
  }
  if (use == FusedUse::kRope) {
    const Tensor half = wave.narrow(0, 0, 16).view({1, 1, 1, 16}), sin = half * 0.5;
    const auto parts = x.chunk(2, -1);
    return {{x, at::cat({half, half}, -1), at::cat({sin, sin}, -1)},
            at::cat({parts[0] * half - parts[1] * sin, parts[1] * half + parts[0] * sin}, -1)};
  }
  const auto parts = x.chunk(2, -1);
  return {{x, int64_t{-1}, int64_t{1}, true}, at::gelu(parts[0], "tanh") * parts[1]};
}

double largest_error(const Tensor& found, const Tensor& expected) {
  if (found.defined() != expected.defined()) {
    return HUGE_VAL;  // no gradient where there is one
  }
  if (!expected.defined()) {
    return 0;
  }
  const Tensor a = found.detach().cpu().to(at::kDouble), b = expected.detach().cpu().to(at::kDouble);
  return a.sizes() == b.sizes() ? (a - b).abs().max().item<double>() : HUGE_VAL;
}

/// Result and gradients, of values around 1.
double trial_error(const c10::OperatorHandle& op, FusedUse use, at::ScalarType dtype) {
  const at::AutoGradMode with_graph(true);
  constexpr int64_t kRows = 8, kWidth = 32;
  const Tensor values = at::linspace(-2, 2, kRows * kWidth).view({2, 2, 2, kWidth}).sin().to(dtype);
  struct Found {
    Tensor y, of_x, of_weight;
  };
  const auto run = [&](bool is_fused) {
    const Tensor x = place(values).clone().set_requires_grad(true);
    const Tensor wave = place(at::linspace(0.5, 1.5, kWidth).cos().to(dtype));
    wave.set_requires_grad(use == FusedUse::kRmsNorm);  // the others have no weights
    const Trial trial = trial_of(use, x, wave);
    const Tensor y = is_fused ? call(op, trial.arguments).at(0) : trial.expected;
    const Tensor slope = place(at::linspace(0.5, 1.0, y.numel()).view(y.sizes()));  // tells the places apart
    (y.to(at::kFloat) * slope).sum().backward();
    const Tensor of_weight = wave.grad();
    return Found{y.detach(), x.grad(), of_weight.defined() ? of_weight / kRows : of_weight};  // a sum over rows
  };
  const Found found = run(true), expected = run(false);
  return std::max({largest_error(found.y, expected.y), largest_error(found.of_x, expected.of_x),
                   largest_error(found.of_weight, expected.of_weight)});
}

/// "" if the operator gives what the formula gives.
std::string disagreement(const c10::OperatorHandle& op, FusedUse use) {
  constexpr double kFloatError = 1e-4, kBfloatError = 0.1;  // of gradients up to 8 times the values, in few bits
  try {
    for (const auto& [dtype, most] : {std::pair(at::kFloat, kFloatError), std::pair(at::kBFloat16, kBfloatError)}) {
      const double error = trial_error(op, use, dtype);
      if (!(error <= most)) {
        return str_cat("its result differs by ", error, " from the formula's in ", c10::toString(dtype));
      }
    }
  } catch (const std::exception& error) {
    return to_error(error).what();
  }
  return {};
}

}  // namespace

bool has_fused(FusedUse use) {
  return chosen().at(static_cast<size_t>(use)).has_value();
}

std::vector<Tensor> call_fused(FusedUse use, const std::vector<c10::IValue>& arguments) {
  const auto& op = chosen().at(static_cast<size_t>(use));
  if (!op) {
    throw Error(ErrorKind::kRuntime, "the device has no such operator", kNames.at(static_cast<size_t>(use)));
  }
  return call(*op, arguments);
}

void try_fused_ops() {
  chosen() = {};
  const Backend* backend = current_backend();
  if (backend == nullptr) {
    return;
  }
  for (const FusedOp& candidate : backend->fused_ops()) {
    const auto* const name = std::find(kNames.begin(), kNames.end(), candidate.use);
    const auto place_of = static_cast<size_t>(name - kNames.begin());
    if (name == kNames.end() || !candidate.is_there || chosen().at(place_of)) {
      continue;
    }
    const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(candidate.op.c_str(), "");
    const std::string problem = disagreement(op, static_cast<FusedUse>(place_of));
    if (problem.empty()) {
      chosen().at(place_of) = op;
    } else {
      log_warn("a fused operator of the device is left alone", {{"op", candidate.op}, {"reason", problem}});
    }
  }
}

}  // namespace flexor::device
