#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <cstddef>
#include <cstdint>

namespace flexor {

/// Memory of the process' BlockPool: buffers that come and go in every step would otherwise leave holes in the heap,
/// which grows by them. On devices other than the CPU it is that of `allocator`.
c10::DataPtr large_buffer(size_t bytes, c10::Device device, c10::Allocator* allocator);

/// A tensor of `count` zeros in such a buffer.
at::Tensor large_zeros(int64_t count, const at::TensorOptions& options);

/// Zeros in the shape of `like`, contiguous, for what stays for the whole run (states of an optimizer): where it is
/// large it has memory of its own, so that the heap, whose tensors come and go, keeps no holes around it.
at::Tensor lasting_zeros(const at::Tensor& like, at::ScalarType dtype);
/// The values of `source` in such a tensor.
at::Tensor lasting_copy(const at::Tensor& source, at::ScalarType dtype);

/// Gives the free pages of the heap back to the system.
void trim_heap();

}  // namespace flexor
