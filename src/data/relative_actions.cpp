#include "data/relative_actions.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/str_cat.h"
#include "tensor/tensor.h"

namespace flexor::data {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// The state at relative dims, 0 elsewhere: [B, 1, A].
Tensor offset_of(const Tensor& action, const Tensor& state, const std::vector<bool>& mask) {
  if (!state.defined()) {
    throw Error(ErrorKind::kData, "relative actions need observation.state, there is none", "",
                "policy.use_relative_actions=false, or rename_map to observation.state");
  }
  const auto last = std::find(mask.rbegin(), mask.rend(), true);
  const auto needed = static_cast<int64_t>(mask.rend() - last);
  if (state.size(1) < needed) {
    throw Error(ErrorKind::kData,
                str_cat("relative actions need a state of ", needed, " values, observation.state has ", state.size(1)),
                "", "list the joints that stay absolute in policy.relative_exclude_joints");
  }
  Tensor offset = at::zeros({action.size(0), 1, action.size(2)}, action.options());
  const Tensor source = state.to(action.options());
  for (size_t d = 0; d < mask.size(); ++d) {
    if (mask[d]) {
      const auto dim = static_cast<int64_t>(d);
      offset.select(2, dim).select(1, 0).copy_(source.select(1, dim));
    }
  }
  return offset;
}

}  // namespace

std::vector<bool> relative_mask(const RelativeActions& relative, int64_t action_dim) {
  std::vector<bool> mask(static_cast<size_t>(action_dim), true);
  if (!relative.action_names) {
    return mask;
  }
  const std::vector<std::string>& names = *relative.action_names;
  if (static_cast<int64_t>(names.size()) != action_dim) {
    throw Error(
        ErrorKind::kConfig,
        str_cat("policy.action_feature_names has ", names.size(), " names, the action has ", action_dim, " values"),
        "policy.action_feature_names");
  }
  for (size_t d = 0; d < names.size(); ++d) {
    const std::string name = lower(names[d]);
    mask[d] = std::none_of(
        relative.exclude_joints.begin(), relative.exclude_joints.end(),
        [&](const std::string& joint) { return !joint.empty() && name.find(lower(joint)) != std::string::npos; });
  }
  return mask;
}

Tensor to_relative(const Tensor& action, const Tensor& state, const std::vector<bool>& mask) {
  return action - offset_of(action, state, mask);
}

Tensor to_absolute(const Tensor& action, const Tensor& state, const std::vector<bool>& mask) {
  return action + offset_of(action, state, mask);
}

}  // namespace flexor::data
