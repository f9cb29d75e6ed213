#include "recap/index_files.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/str_cat.h"
#include "data/jsonl.h"

namespace flexor::recap {

namespace fs = std::filesystem;

std::vector<std::string> data_files(const std::string& root) {
  if (!fs::is_directory(root)) {
    throw Error(ErrorKind::kFile, "no such folder", root, "data.train_data_paths names the folders of the datasets");
  }
  const fs::path folder = fs::path(root) / "data";
  if (!fs::is_directory(folder)) {
    throw Error(ErrorKind::kFile, "the dataset has no folder data/", root, "a LeRobot dataset has meta/ and data/");
  }
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".parquet" || entry.is_directory()) {
      continue;
    }
    if (!entry.is_regular_file()) {
      throw Error(ErrorKind::kFile, entry.exists() ? "this is no file" : "the link leads to no file",
                  entry.path().string(), "copy the dataset again; its episodes would be missing");
    }
    files.push_back(entry.path().string());
  }
  if (files.empty()) {
    throw Error(ErrorKind::kFile, "no Parquet file below data/", root, "copy the dataset again");
  }
  std::sort(files.begin(), files.end());
  return files;
}

namespace {

/// A line without task_index takes its number, as the reference does.
data::TaskTable read_task_lines(const std::string& path) {
  data::TaskTable tasks;
  for (const data::JsonLine& line : data::read_jsonl(path)) {
    const Json* number = line.json.find("task_index");
    const Json* text = line.json.find("task");
    if (text == nullptr || !text->is_string() || (number != nullptr && !number->is_int())) {
      throw Error(ErrorKind::kData, "expected {\"task_index\": number, \"task\": text}", str_cat(path, ":", line.line));
    }
    tasks[number == nullptr ? static_cast<int64_t>(tasks.size()) : number->as_int()] = text->as_string();
  }
  return tasks;
}

}  // namespace

data::TaskTable read_task_texts(const std::string& root) {
  if (fs::exists(root + "/meta/tasks.jsonl")) {
    return read_task_lines(root + "/meta/tasks.jsonl");
  }
  if (fs::exists(root + "/meta/tasks.parquet")) {
    data::DatasetInfo info;
    info.root = root;
    info.major = 3;
    std::vector<data::Finding> findings;
    return data::read_tasks(info, findings);
  }
  return {};
}

}  // namespace flexor::recap
