#pragma once
#include <cstdint>

namespace flexor {

double wall_seconds();         ///< of a clock that never jumps; only differences mean something
double process_cpu_seconds();  ///< user + system time of all threads of this process
int64_t peak_rss_bytes();      ///< largest resident memory that this process has had

}  // namespace flexor
