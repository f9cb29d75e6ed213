#include "base/control_group.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/text.h"

namespace flexor {
namespace {

namespace fs = std::filesystem;

/// A number that stands first in a file; 0 for "max", -1, or without the file.
double number_in(const fs::path& file) {
  std::ifstream stream(file);
  double number = 0;
  return stream >> number && number > 0 ? number : 0;
}

struct Limits {
  const char *memory, *memory_used;  ///< names of the files
};
constexpr Limits kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes"};
constexpr Limits kVersion2{"memory.max", "memory.current"};

/// The tightest limit of a folder and those above it, as far up as `top`.
void add_memory(const fs::path& top, const std::string& group, const Limits& names, ControlGroup& found) {
  constexpr double kUnlimited = 1e18;  // version 1 writes the largest multiple of a page
  for (fs::path below = fs::path(group).relative_path();; below = below.parent_path()) {
    const double limit = number_in(top / below / names.memory);
    if (limit > 0 && limit < kUnlimited &&
        (found.memory_limit == 0 || limit < static_cast<double>(found.memory_limit))) {
      found.memory_limit = static_cast<int64_t>(limit);
      found.memory_used = static_cast<int64_t>(number_in(top / below / names.memory_used));
    }
    if (below.empty()) {
      return;
    }
  }
}

void add_cpus(const fs::path& top, const std::string& group, bool is_version2, ControlGroup& found) {
  for (fs::path below = fs::path(group).relative_path();; below = below.parent_path()) {
    double quota = 0, period = 0;
    if (is_version2) {
      std::ifstream stream(top / below / "cpu.max");
      stream >> quota >> period;
    } else {
      quota = number_in(top / below / "cpu.cfs_quota_us");
      period = number_in(top / below / "cpu.cfs_period_us");
    }
    if (quota > 0 && period > 0) {
      found.cpus = found.cpus > 0 ? std::min(found.cpus, quota / period) : quota / period;
    }
    if (below.empty()) {
      return;
    }
  }
}

bool names_controller(const std::string& list, const std::string& name) {
  const std::vector<std::string> controllers = split_text(list, ',');
  return std::ranges::find(controllers, name) != controllers.end();
}

}  // namespace

ControlGroup control_group(const std::string& root) {
  ControlGroup found;
  const fs::path mounts = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "4:memory:/path", "0::/path"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) {
      add_memory(mounts, group, kVersion2, found);
      add_cpus(mounts, group, /*is_version2=*/true, found);
    }
    if (names_controller(controllers, "memory")) {
      add_memory(mounts / "memory", group, kVersion1, found);
    }
    if (names_controller(controllers, "cpu")) {
      add_cpus(mounts / "cpu", group, /*is_version2=*/false, found);
    }
  }
  return found;
}

}  // namespace flexor
