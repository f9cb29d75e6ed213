#include "data/dataset_tasks.h"

#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "base/text.h"
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

using TaskRows = std::vector<std::pair<int64_t, std::string>>;

class TaskReader {
 public:
  TaskReader(const DatasetInfo& info, std::vector<Finding>& findings, std::vector<Finding>* broken)
      : root_(info.root),
        file_(info.major == 3 ? "meta/tasks.parquet" : "meta/tasks.jsonl"),
        path_(root_ + "/" + file_),
        findings_(findings),
        broken_(broken) {}

  TaskTable run(bool is_parquet) {
    attempt("tasks_unreadable", root_, broken_, [&] { is_parquet ? read_parquet() : read_lines(); });
    TaskTable tasks;
    for (auto& [number, text] : rows_) {
      attempt("task_duplicate", root_, broken_, [&, &key = number, &value = text] {
        if (!tasks.emplace(key, value).second) {
          throw Error(ErrorKind::kData, str_cat("task_index ", key, " appears twice"), path_, "remove one of the two");
        }
      });
    }
    if (is_parquet) {
      check_order();
    }
    check_texts();
    return tasks;
  }

 private:
  void read_parquet() {
    const auto reader = table::ParquetReader::open(path_);
    const auto numbers = reader.read_numeric("task_index");
    const std::vector<std::string> texts = reader.read_texts(task_column(reader));
    for (size_t i = 0; i < texts.size(); ++i) {
      add(static_cast<int64_t>(numbers.at(static_cast<int64_t>(i))), texts[i]);
    }
  }

  void read_lines() {
    const auto on_error = [this](const Error& error) {
      broken_->push_back(finding_of(error, "tasks_unreadable", root_));
    };
    for_each_json_line(
        path_,
        [this](const JsonLine& line) {
          const Json* number = line.json.find("task_index");
          const Json* task = line.json.find("task");
          if (!number || !number->is_number() || !task || !task->is_string()) {
            throw Error(ErrorKind::kData, "expected {\"task_index\": number, \"task\": text}", "",
                        "correct the line, or copy the file again");
          }
          add(number->as_int(), task->as_string());
        },
        broken_ ? std::function<void(const Error&)>(on_error) : nullptr);
    if (!is_utf8(read_file(path_))) {
      warn_not_utf8();
    }
  }

  void add(int64_t number, const std::string& text) {
    if (!is_utf8(text)) {
      warn_not_utf8();
    }
    rows_.emplace_back(number, to_utf8(text));
  }

  void warn_not_utf8() {
    if (!std::exchange(warned_, true)) {
      findings_.push_back({.code = "not_utf8",
                           .severity = Severity::kWarning,
                           .file = file_,
                           .expected = "UTF-8",
                           .message = "texts of tasks in another encoding; they are taken as Latin-1",
                           .hint = "iconv -f latin1 -t utf8 converts a text file; LeRobot cannot read this one"});
    }
  }

  void warn(const std::string& code, const std::string& message, const std::string& hint) {
    findings_.push_back(
        {.code = code, .severity = Severity::kWarning, .file = file_, .message = message, .hint = hint});
  }

  /// The first empty text and the first one that comes again.
  void check_texts() {
    bool warned_empty = false, warned_twice = false;
    std::unordered_map<std::string_view, int64_t> first;
    for (const auto& [number, text] : rows_) {
      if (trim_text(text).empty()) {
        if (!std::exchange(warned_empty, true)) {
          warn("task_empty", str_cat("the text of task ", number, " is empty: a policy learns nothing of what to do"),
               "write what the robot does, if the policy shall follow words");
        }
        continue;
      }
      const auto [same, is_new] = first.try_emplace(text, number);
      if (!is_new && same->second != number && !std::exchange(warned_twice, true)) {
        warn("task_repeated", str_cat("tasks ", same->second, " and ", number, " have the same text"),
             "LeRobot finds a task by its text: give the frames of both one task_index");
      }
    }
  }

  void check_order() {
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (const int64_t number = rows_[i].first; number != static_cast<int64_t>(i)) {
        findings_.push_back({.code = "task_order",
                             .severity = Severity::kWarning,
                             .file = file_,
                             .message = str_cat("task ", number, " does not stand in row ", number,
                                                "; tasks are matched by task_index, LeRobot matches them by row")});
        return;
      }
    }
  }

  const std::string root_, file_, path_;
  std::vector<Finding>& findings_;
  std::vector<Finding>* broken_;
  TaskRows rows_;
  bool warned_ = false;
};

}  // namespace

TaskTable read_tasks(const DatasetInfo& info, std::vector<Finding>& findings, std::vector<Finding>* broken) {
  return TaskReader(info, findings, broken).run(/*is_parquet=*/info.major == 3);
}

}  // namespace flexor::data
