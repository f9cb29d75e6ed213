#pragma once
#include <ATen/core/Tensor.h>
#include <functional>

namespace flexor {

/// Values [first, first + count) of a flat tensor, as a contiguous tensor of `count` values on any device.
using FetchValues = std::function<at::Tensor(int64_t first, int64_t count)>;

// An absent tensor has shape, dtype and device, but its values are elsewhere: on other ranks, or yet to be computed.
// What is detached or was viewed before is absent too; views cannot be made. No operator may read it; present() brings
// the values.

/// @param fetch  brings its values, in the tensor's dtype; called once for each present()
at::Tensor absent_tensor(at::IntArrayRef shape, const at::TensorOptions& options, FetchValues fetch);

/// Frees the memory of `tensor` and of all that share its storage, all of which become absent. allocate_storage() ends
/// that. @param tensor  owns its storage from the first value to the last
void release_storage(const at::Tensor& tensor, FetchValues fetch);

/// Gives the storage of a released tensor memory for `tensor` again, uninitialised. Nothing if it has any.
void allocate_storage(const at::Tensor& tensor);

bool is_absent(const at::Tensor& tensor);

/// The tensor itself, or the values of an absent one in its shape, which must be contiguous.
/// @throws what its FetchValues throws
at::Tensor present(const at::Tensor& tensor);

}  // namespace flexor
