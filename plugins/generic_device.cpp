#include "generic_device.h"

#include <algorithm>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <cstring>

namespace flexor::plugins {
namespace {

c10::Device device_of(c10::DeviceType type, int32_t index) {
  return {type, static_cast<c10::DeviceIndex>(index)};
}

}  // namespace

int report(std::string_view text, char* error, size_t size) {
  if (error != nullptr && size > 0) {
    const size_t length = std::min({text.find('\n'), text.size(), size - 1});  // torch_npu adds lines for its log
    std::memcpy(error, text.data(), length);
    error[length] = '\0';
  }
  return 1;
}

void set_device(c10::DeviceType type, int32_t index) {
  c10::impl::VirtualGuardImpl(type).setDevice(device_of(type, index));
}

void synchronize(c10::DeviceType type, int32_t index) {
  c10::impl::VirtualGuardImpl(type).synchronizeDevice(static_cast<c10::DeviceIndex>(index));
}

flexor_backend_memory memory(c10::DeviceType type, int32_t index) {
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  c10::DeviceAllocator* allocator = c10::getDeviceAllocator(type);
  const auto device = static_cast<c10::DeviceIndex>(index);
  const auto stats = allocator->getDeviceStats(device);
  const auto [free, total] = allocator->getMemoryInfo(device);
  return {.allocated = stats.allocated_bytes[kAll].current,
          .reserved = stats.reserved_bytes[kAll].current,
          .peak_allocated = stats.allocated_bytes[kAll].peak,
          .peak_reserved = stats.reserved_bytes[kAll].peak,
          .free = static_cast<int64_t>(free),
          .total = static_cast<int64_t>(total)};
}

void reset_peak(c10::DeviceType type, int32_t index) {
  c10::getDeviceAllocator(type)->resetPeakStats(static_cast<c10::DeviceIndex>(index));
}

void empty_cache(c10::DeviceType type) {
  c10::getDeviceAllocator(type)->emptyCache();
}

}  // namespace flexor::plugins
