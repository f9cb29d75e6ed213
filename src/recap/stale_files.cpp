#include "recap/stale_files.h"

#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

std::string list_path(const std::string& folder) {
  return folder + "/superseded";
}

std::optional<int64_t> time_of(const fs::path& file) {
  std::error_code code;
  const auto time = fs::last_write_time(file, code);
  return code ? std::nullopt : std::optional<int64_t>(time.time_since_epoch().count());
}

}  // namespace

void mark_stale(const std::string& folder) {
  Json files = Json::object();
  std::error_code code;
  for (fs::recursive_directory_iterator entry(folder + "/checkpoints", code), end; !code && entry != end;
       entry.increment(code)) {
    if (entry->is_regular_file()) {
      files[entry->path().lexically_relative(folder).generic_string()] = time_of(entry->path()).value_or(0);
    }
  }
  if (files.size() > 0) {
    write_file_atomic(list_path(folder), files.dump(1) + "\n");
  }
}

bool has_stale(const std::string& folder) {
  if (!fs::exists(list_path(folder))) {
    return false;
  }
  try {
    for (const auto& [name, time] : Json::read_file(list_path(folder)).as_object()) {
      if (const auto now = time_of(fs::path(folder) / name); now && *now == time.as_int()) {
        return true;
      }
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) {
      throw;
    }
    return true;  // a damaged list could name all of them
  }
  return false;
}

void forget_stale(const std::string& folder) {
  std::error_code ignored;
  fs::remove(list_path(folder), ignored);
}

}  // namespace flexor::recap
