#include "report/run_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <limits>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "config/yaml_read.h"

namespace flexor::report {
namespace {

constexpr const char* kDamagedRow = "remove the line; training removes such lines itself when it is resumed";

namespace fs = std::filesystem;

void flatten(const Json& value, const std::string& prefix, Pairs& pairs) {
  if (value.is_object() && value.size() > 0) {
    for (const auto& [key, member] : value.as_object()) {
      flatten(member, prefix.empty() ? key : str_cat(prefix, ".", key), pairs);
    }
  } else {
    pairs.emplace_back(prefix, value.is_string() ? value.as_string() : value.dump());
  }
}

/// Adds a value; of a step that comes again only the new value and what was before it stay.
void add_value(std::vector<Curve>& curves, const std::string& name, double step, double value) {
  auto found = std::find_if(curves.begin(), curves.end(), [&](const Curve& curve) { return curve.name == name; });
  if (found == curves.end()) {
    curves.push_back({name, {}, {}});
    found = std::prev(curves.end());
  }
  while (!found->steps.empty() && found->steps.back() >= step) {
    found->steps.pop_back();
    found->values.pop_back();
  }
  found->steps.push_back(step);
  found->values.push_back(value);
}

void read_metrics(const std::string& path, RunFiles& run) {
  const std::string text = read_file(path);
  const std::vector<std::string> lines = split_text(text, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    if (trim_text(lines[i]).empty()) {
      continue;
    }
    const std::string where = str_cat(path, ":", i + 1);
    Json row;
    try {
      row = Json::parse(lines[i], path);
    } catch (const Error& error) {
      if (i + 1 == lines.size()) {  // no line end after it: it was being written
        run.num_cut_lines = 1;
        return;
      }
      throw Error(ErrorKind::kData, error.what(), where, kDamagedRow);
    }
    const Json* step = row.find("step");
    if (step == nullptr || !step->is_number()) {
      throw Error(ErrorKind::kData, "expected an object with the number 'step'", where, kDamagedRow);
    }
    for (const auto& [name, value] : row.as_object()) {
      if (name != "step" && (value.is_number() || value.is_null())) {
        const double number = value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.as_double();
        add_value(run.curves, name, step->as_double(), number);
      }
    }
  }
}

void read_summary(const fs::path& path, Pairs& pairs) {
  for (const std::string& line : split_text(read_file(path.string()), '\n')) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos) {
      continue;
    }
    const std::string key(trim_text(line.substr(0, equals))), value(trim_text(line.substr(equals + 1)));
    const bool is_known = std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == key; });
    if (!is_known) {
      pairs.emplace_back(key, value);
    }
  }
}

int64_t folder_bytes(const fs::path& folder) {
  int64_t bytes = 0;
  std::error_code ignored;
  for (auto entry = fs::recursive_directory_iterator(folder, ignored);
       !ignored && entry != fs::recursive_directory_iterator(); entry.increment(ignored)) {
    std::error_code unread;
    const auto size = entry->is_regular_file(unread) ? entry->file_size(unread) : 0;
    bytes += unread ? 0 : static_cast<int64_t>(size);
  }
  return bytes;
}

void read_checkpoints(const fs::path& folder, std::vector<CheckpointInfo>& checkpoints) {
  std::error_code ignored;
  const fs::path last = fs::read_symlink(folder / "last", ignored);
  for (auto entry = fs::directory_iterator(folder, ignored); !ignored && entry != fs::directory_iterator();
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    const bool is_step =
        !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (is_step && fs::is_directory(entry->path())) {
      checkpoints.push_back({name, folder_bytes(entry->path()), last.filename() == name});
    }
  }
  std::sort(checkpoints.begin(), checkpoints.end(), [](const CheckpointInfo& a, const CheckpointInfo& b) {
    return a.name.size() != b.name.size() ? a.name.size() < b.name.size() : a.name < b.name;
  });
}

Json read_optional(const fs::path& path) {
  return fs::exists(path) ? Json::read_file(path.string()) : Json();
}

/// The first of these files that is there, or null.
Json read_first(const std::vector<fs::path>& paths) {
  const auto found = std::find_if(paths.begin(), paths.end(), [](const fs::path& path) { return fs::exists(path); });
  return found == paths.end() ? Json() : read_optional(*found);
}

Pairs read_config(const fs::path& path) {
  Pairs pairs;
  if (fs::exists(path)) {
    std::vector<config::Finding> findings;
    flatten(config::to_json(config::parse_yaml(read_file(path.string()), path.string(), findings)), "", pairs);
  }
  return pairs;
}

}  // namespace

const Curve* RunFiles::find(std::string_view name) const {
  const auto found = std::find_if(curves.begin(), curves.end(), [&](const Curve& curve) { return curve.name == name; });
  return found == curves.end() ? nullptr : &*found;
}

RunFiles read_run(const std::string& folder) {
  const fs::path path(folder);
  if (!fs::is_directory(path)) {
    throw Error(ErrorKind::kFile, "no such folder", folder);
  }
  if (!fs::exists(path / "metrics.jsonl")) {
    throw Error(ErrorKind::kFile, "the folder has no metrics.jsonl", folder,
                "give the output_dir of a training run, and at least one logged step");
  }
  RunFiles run;
  run.folder = folder;
  read_metrics((path / "metrics.jsonl").string(), run);
  run.config = read_config(path / "config.yaml");
  if (const Json environment = read_optional(path / "environment.json"); environment.is_object()) {
    flatten(environment, "", run.environment);
  }
  std::vector<fs::path> logs;
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("_perf.log") || name.ends_with("_acc.log")) {
      logs.push_back(entry.path());
    }
  }
  std::sort(logs.begin(), logs.end());
  for (const fs::path& log : logs) {
    read_summary(log, run.summary);
  }
  read_checkpoints(path / "checkpoints", run.checkpoints);
  run.samples = read_first({path / "samples.json", path / "eval" / "samples.json"});
  run.evaluation = read_first({path / "eval.json", path / "eval" / "eval.json"});
  return run;
}

}  // namespace flexor::report
