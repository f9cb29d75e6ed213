#include "cli/threads.h"

#include <ATen/Parallel.h>

namespace flexor::cli {

void set_threads(int64_t threads) {
  if (threads > 0) {
    at::set_num_threads(static_cast<int>(threads));
  }
}

int64_t get_threads() {
  return at::get_num_threads();
}

}  // namespace flexor::cli
