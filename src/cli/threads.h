#pragma once
#include <cstdint>

namespace flexor::cli {

/// Threads that one tensor operation may use; 0 leaves LibTorch's choice (OMP_NUM_THREADS, else the cores).
void set_threads(int64_t threads);
int64_t get_threads();

}  // namespace flexor::cli
