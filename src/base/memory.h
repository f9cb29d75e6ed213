#pragma once
#include <cstdint>

namespace flexor {

/// Memory that this process may use at most: the machine's with its swap space, or the limit of its control group. 0 if
/// neither can be told.
int64_t memory_limit_bytes();

}  // namespace flexor
