#pragma once
#include <optional>
#include <string>
#include <utility>

#include "recap/judged_frames.h"

namespace flexor::recap {

/// Reads what the sidecars of one dataset say. Its tasks get numbers in `run.tasks`.
/// @return the dataset, and the range of the returns in its sidecar, if it has one
/// @throws as read_judged
std::pair<JudgedDataset, std::optional<ReturnRange>> read_judged_dataset(const RecapConfig& config,
                                                                         const DatasetEntry& entry, JudgedRun& run);

}  // namespace flexor::recap
