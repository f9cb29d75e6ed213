#pragma once
#include <cstdint>
#include <string>

namespace flexor {

/// What the control group of this process (and those above it) allows; 0 where there is no limit or none can be told.
struct ControlGroup {
  int64_t memory_limit = 0;  ///< bytes
  int64_t memory_used = 0;   ///< bytes, of the group with that limit; page cache counts
  double cpus = 0;           ///< processors' worth of time: 1.5 is a core and a half
};

/// Version 1 and 2. @param root  in place of "/", for tests
ControlGroup control_group(const std::string& root = {});

}  // namespace flexor
