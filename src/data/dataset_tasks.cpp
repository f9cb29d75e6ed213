#include "data/dataset_tasks.h"

#include <optional>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "data/jsonl.h"
#include "table/parquet_reader.h"

namespace flexor::data {
namespace {

/// The column of texts: `task`, else the pandas index, else the name pandas gives an index without one.
std::string task_column(const table::ParquetReader& reader) {
  if (reader.find("task")) {
    return "task";
  }
  if (const std::string pandas = reader.metadata("pandas"); !pandas.empty()) {
    const Json json = Json::parse(pandas, reader.path() + ", schema metadata \"pandas\"");
    const Json* columns = json.find("index_columns");
    for (size_t i = 0; columns && columns->is_array() && i < columns->size(); ++i) {
      const Json& name = columns->as_array()[i];
      if (name.is_string() && reader.find(name.as_string())) {
        return name.as_string();
      }
    }
  }
  return "__index_level_0__";
}

std::vector<std::pair<int64_t, std::string>> read_rows_v3(const std::string& path) {
  const auto reader = table::ParquetReader::open(path);
  const auto numbers = reader.read_numeric("task_index");
  std::vector<std::string> texts = reader.read_texts(task_column(reader));
  std::vector<std::pair<int64_t, std::string>> rows;
  for (size_t i = 0; i < texts.size(); ++i) {
    rows.emplace_back(static_cast<int64_t>(numbers.at(static_cast<int64_t>(i))), std::move(texts[i]));
  }
  return rows;
}

std::vector<std::pair<int64_t, std::string>> read_rows_v2(const std::string& path) {
  std::vector<std::pair<int64_t, std::string>> rows;
  for (const JsonLine& line : read_jsonl(path)) {
    const Json* number = line.json.find("task_index");
    const Json* task = line.json.find("task");
    if (!number || !number->is_number() || !task || !task->is_string()) {
      throw Error(ErrorKind::kData, "expected {\"task_index\": number, \"task\": text}", str_cat(path, ":", line.line),
                  "correct the line, or copy the file again");
    }
    rows.emplace_back(number->as_int(), task->as_string());
  }
  return rows;
}

}  // namespace

TaskTable read_tasks(const DatasetInfo& info, std::vector<Finding>& findings) {
  const std::string file = info.major == 3 ? "meta/tasks.parquet" : "meta/tasks.jsonl";
  const std::string path = info.root + "/" + file;
  const auto rows = info.major == 3 ? read_rows_v3(path) : read_rows_v2(path);
  TaskTable tasks;
  std::optional<int64_t> displaced;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& [number, text] = rows[i];
    if (!tasks.emplace(number, text).second) {
      throw Error(ErrorKind::kData, str_cat("task_index ", number, " appears twice"), path, "remove one of the two");
    }
    if (number != static_cast<int64_t>(i) && !displaced) {
      displaced = number;
    }
  }
  if (displaced && info.major == 3) {
    findings.push_back({.code = "task_order",
                        .severity = Severity::kWarning,
                        .file = file,
                        .message = str_cat("task ", *displaced, " does not stand in row ", *displaced,
                                           "; tasks are matched by task_index, LeRobot matches them by row")});
  }
  return tasks;
}

}  // namespace flexor::data
