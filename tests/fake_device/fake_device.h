#pragma once
// A device for tests: memory of the host behind LibTorch's device type PrivateUse1. What has no kernel of its own here
// is computed by the CPU's kernels on the same memory, so that results are the CPU's.
#include <ATen/core/Tensor.h>
#include <cstdint>

namespace fake {

/// Devices that are there: FLEXOR_FAKE_DEVICES, 1 without it.
int64_t device_count();
/// Bytes that each has: FLEXOR_FAKE_MEMORY, 8 GiB without it.
int64_t memory_size();

/// Index of the calling thread's device.
int64_t current_device();
void set_current_device(int64_t index);

struct Counters {
  int64_t allocated = 0, peak = 0;
};
Counters counters(int64_t device);
void reset_peak(int64_t device);

/// Allocator, guard, generator and pinned memory.
void register_memory();

/// The same memory as a CPU tensor; it keeps `tensor` alive.
at::Tensor on_cpu(const at::Tensor& tensor);

}  // namespace fake
