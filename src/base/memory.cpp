#include "base/memory.h"

#include <algorithm>
#include <sys/sysinfo.h>

#include "base/control_group.h"

namespace flexor {

int64_t memory_limit_bytes() {
  struct sysinfo info{};
  int64_t bytes = 0;
  if (::sysinfo(&info) == 0) {
    bytes = static_cast<int64_t>(info.totalram + info.totalswap) * int64_t{info.mem_unit};
  }
  if (const int64_t limit = control_group().memory_limit; limit > 0) {
    bytes = bytes > 0 ? std::min(bytes, limit) : limit;
  }
  return bytes;
}

}  // namespace flexor
