#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/dataset_info.h"
#include "data/finding.h"

namespace flexor::data {

/// task_index -> task text, from meta/tasks.jsonl (v2.x) or meta/tasks.parquet (v3.0).
using TaskTable = std::unordered_map<int64_t, std::string>;

/// @param findings  gets task rows whose number is not their position (the reference resolves by position),
/// texts that are not UTF-8, which are taken as Latin-1, empty texts, and texts of two tasks
/// @param broken  gets what cannot be read (a file, a line), and the rest is read; without it that is thrown
/// @throws Error(kFile), Error(kData)
TaskTable read_tasks(const DatasetInfo& info, std::vector<Finding>& findings, std::vector<Finding>* broken = nullptr);

}  // namespace flexor::data
