#include "base/memory.h"

#include <algorithm>
#include <fstream>
#include <sys/sysinfo.h>

namespace flexor {

int64_t memory_limit_bytes() {
  struct sysinfo info{};
  int64_t bytes = 0;
  if (::sysinfo(&info) == 0) {
    bytes = static_cast<int64_t>(info.totalram + info.totalswap) * int64_t{info.mem_unit};
  }
  std::ifstream group("/sys/fs/cgroup/memory.max");  // "max" without a limit
  if (int64_t limit = 0; group >> limit) {
    bytes = bytes > 0 ? std::min(bytes, limit) : limit;
  }
  return bytes;
}

}  // namespace flexor
