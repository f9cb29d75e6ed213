#pragma once
#include <string>
#include <vector>

#include "data/dataset_tasks.h"

namespace flexor::recap {

/// All Parquet files below ROOT/data, sorted by path. @throws Error(kFile) if there is no dataset, no data/, no file
std::vector<std::string> data_files(const std::string& root);

/// Task texts of ROOT/meta/tasks.jsonl, whose lines may lack task_index as RLinf's may, else of meta/tasks.parquet;
/// none without both. @throws Error(kFile), Error(kData)
data::TaskTable read_task_texts(const std::string& root);

}  // namespace flexor::recap
