#pragma once
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "base/error.h"

namespace flexor::device {

/// What of the memory is in use for what.
struct LiveBytes {
  std::string what;  ///< "weights"
  int64_t bytes = 0;
};

/// Whether an exception of LibTorch or the standard library says that memory, of a device or of the machine, ran out.
bool is_out_of_memory(const std::exception& error);

/// The Error for users: what was asked for, what is live by kind, what the device has, and what needs less.
/// @param live  what is known; what else the device holds is called activations  @param where  "step 3"
Error out_of_memory(const std::exception& error, const std::vector<LiveBytes>& live, const std::string& where);

}  // namespace flexor::device
