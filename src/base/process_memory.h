#pragma once
#include <cstdint>

namespace flexor {

/// Memory of this process in bytes, as the kernel counts it (anonymous pages, and those of files that are mapped and
/// were touched). 0 if it cannot be told.
int64_t resident_bytes();       ///< now
int64_t peak_resident_bytes();  ///< the most since the start

/// What may still be allocated without swapping: the machine's available memory, or what the control group leaves. 0 if
/// neither can be told.
int64_t available_memory_bytes();

}  // namespace flexor
