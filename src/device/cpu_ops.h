#pragma once
#include <c10/core/DeviceType.h>
#include <c10/core/DispatchKey.h>
#include <string>
#include <vector>

namespace flexor::device {

/// Where LibTorch looks for the kernels of a device.
c10::DispatchKey dispatch_key_of(c10::DeviceType type);

/// Gives operators that a device has no kernel for one that computes on the CPU: tensors are copied there and back, and
/// each operator is named once in the log when it is used. Those that the device has a kernel for, and those that this
/// LibTorch does not know, are left alone.
/// @param ops  "aten::name" or "aten::name.overload"  @return those that were given one
std::vector<std::string> leave_to_cpu(const std::string& device, c10::DeviceType type,
                                      const std::vector<std::string>& ops);

/// Operators that the CPU has computed for the device so far.
std::vector<std::string> used_cpu_ops();

}  // namespace flexor::device
