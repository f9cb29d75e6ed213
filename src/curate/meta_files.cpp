#include "curate/meta_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "data/frame_cache_find.h"

namespace flexor::curate {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kFormatFiles = {"info.json",      "tasks.jsonl",          "tasks.parquet",
                                                          "episodes.jsonl", "episodes_stats.jsonl", "stats.json"};

/// Regular files below `folder`, links followed.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code code;
  for (fs::recursive_directory_iterator it(folder, fs::directory_options::follow_directory_symlink, code), end;
       !code && it != end; it.increment(code)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored)) {
      files.push_back(it->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool is_kept_at_root(const std::string& name) {
  const bool is_hidden = name.starts_with(".") && name != ".gitattributes";
  return !is_hidden && name != "info.json" && !name.ends_with(data::kFrameCacheSuffix);
}

}  // namespace

std::vector<std::string> episode_files(const std::string& root) {
  std::vector<std::string> files;
  for (const fs::path& path : files_below(fs::path(root) / "meta" / "episodes")) {
    if (path.extension() == ".parquet") {
      files.push_back(path.string());
    }
  }
  return files;
}

bool is_format_file(const std::string& name) {
  return std::find(kFormatFiles.begin(), kFormatFiles.end(), name) != kFormatFiles.end() ||
         name.starts_with("episodes/");
}

std::vector<std::string> other_files(const std::string& root) {
  std::vector<std::string> files;
  for (const fs::path& path : files_below(fs::path(root) / "meta")) {
    if (const std::string name = path.lexically_relative(fs::path(root) / "meta").string(); !is_format_file(name)) {
      files.push_back("meta/" + name);
    }
  }
  std::error_code code;
  for (fs::directory_iterator it(root, code), end; !code && it != end; it.increment(code)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (it->is_regular_file(ignored) && is_kept_at_root(name)) {
      files.push_back(name);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace flexor::curate
