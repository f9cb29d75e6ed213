#include "base/process_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "base/control_group.h"

namespace flexor {
namespace {

/// "KEY:  123 kB" of a file below /proc.
int64_t kibibytes(const char* file, const std::string& key) {
  constexpr int64_t kKiB = 1024;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(key)) {
      return std::strtoll(line.c_str() + key.size(), nullptr, 10) * kKiB;
    }
  }
  return 0;
}

}  // namespace

int64_t resident_bytes() {
  return kibibytes("/proc/self/status", "VmRSS:");
}

int64_t peak_resident_bytes() {
  return kibibytes("/proc/self/status", "VmHWM:");
}

int64_t available_memory_bytes() {
  int64_t bytes = kibibytes("/proc/meminfo", "MemAvailable:");
  if (const ControlGroup group = control_group(); group.memory_limit > 0) {
    const int64_t left = std::max<int64_t>(0, group.memory_limit - group.memory_used);
    bytes = bytes > 0 ? std::min(bytes, left) : left;
  }
  return bytes;
}

}  // namespace flexor
