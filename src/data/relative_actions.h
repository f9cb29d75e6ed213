#pragma once
#include <ATen/core/Tensor.h>
#include <optional>
#include <string>
#include <vector>

namespace flexor::data {

/// Actions relative to the state at the start of the chunk (LeRobot's `use_relative_actions`).
struct RelativeActions {
  bool enabled = false;
  std::vector<std::string> exclude_joints = {"gripper"};  ///< substrings of lower-cased action names that stay absolute
  std::optional<std::vector<std::string>> action_names;   ///< none: every dim is relative
};

/// Which of `action_dim` dims are relative. @throws Error(kConfig) if there are names, but not action_dim of them
std::vector<bool> relative_mask(const RelativeActions& relative, int64_t action_dim);

/// action[..., t, d] - state[..., d] for relative dims, every step against the same state.
/// @param action [B, T, A]  @param state [B, S], S >= the last relative dim  @throws Error(kData) if the state is
/// shorter
at::Tensor to_relative(const at::Tensor& action, const at::Tensor& state, const std::vector<bool>& mask);
at::Tensor to_absolute(const at::Tensor& action, const at::Tensor& state, const std::vector<bool>& mask);

}  // namespace flexor::data
