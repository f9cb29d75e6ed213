#pragma once
#include <ATen/core/Tensor.h>
#include <string>
#include <vector>

namespace c10 {
struct IValue;
}  // namespace c10

namespace flexor::device {

/// What an operator of a device may stand for in one call; the conventions are those of backend_plugin.h.
enum class FusedUse { kRmsNorm, kRope, kGeglu };

/// Whether the device of this process has a differentiable operator that gives what the formula gives: every one is
/// compared with it, once, on a few numbers.
bool has_fused(FusedUse use);

/// Calls it. @return its outputs  @throws Error(kRuntime) without one
std::vector<at::Tensor> call_fused(FusedUse use, const std::vector<c10::IValue>& arguments);

/// Looks up and tries the operators of the device that was chosen; those that disagree are named in the log and left
/// alone. For choose().
void try_fused_ops();

}  // namespace flexor::device
