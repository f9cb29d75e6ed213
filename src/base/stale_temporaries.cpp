#include "base/stale_temporaries.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

namespace flexor {
namespace {

constexpr std::string_view kMark = ".tmp.";
constexpr size_t kRandomSize = 6;  // the X of mkstemp

std::filesystem::path without_final_slash(const std::string& target) {
  std::filesystem::path path(target);
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

std::string temporary_pattern(const std::string& target) {
  return without_final_slash(target).string() + std::string(kMark) + std::string(kRandomSize, 'X');
}

bool try_lock(int descriptor) {
  return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void remove_stale_temporaries(const std::string& target) {
  const std::filesystem::path path = without_final_slash(target);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const std::string prefix = path.filename().string() + std::string(kMark);
  std::error_code ignored;
  for (auto entry = std::filesystem::directory_iterator(folder, ignored);
       !ignored && entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix) || name.size() != prefix.size() + kRandomSize) {
      continue;
    }
    const int descriptor = ::open(entry->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) {
      continue;
    }
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
      std::error_code unremoved;
      std::filesystem::remove_all(entry->path(), unremoved);
    }
    ::close(descriptor);
  }
}

}  // namespace flexor
