#pragma once
#include <ATen/core/Tensor.h>
#include <string>
#include <utility>
#include <vector>

#include "dist/group.h"

namespace flexor::dist {

/// All ranks must start from the same weights. @throws Error(kRuntime) naming the rank and the first parameter whose
/// name, shape, dtype or values differ
void check_same_weights(Group& group, const std::vector<std::pair<std::string, at::Tensor>>& params);

}  // namespace flexor::dist
