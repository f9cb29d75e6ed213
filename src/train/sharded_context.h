#pragma once
#include <memory>
#include <string>

#include "dist/group.h"
#include "train/parallel_context.h"

namespace flexor::train {

/// Whether the strategy divides anything of the model: zero1, zero2, zero3, hybrid or one of their aliases.
bool is_sharded(const std::string& strategy);

/// Training that divides optimizer state, gradients or weights among ranks (dist/sharded_params.h).
/// @param strategy  one of those; hybrid divides among the ranks of a node and copies across nodes
/// @throws Error(kConfig) for hybrid on nodes with different numbers of ranks
std::unique_ptr<ParallelContext> sharded_context(std::shared_ptr<dist::Group> group, const std::string& strategy);

}  // namespace flexor::train
