#include "data/tensor_pool.h"

#include <atomic>

#include "tensor/tensor.h"

namespace flexor::data {

at::Tensor TensorPool::get(at::IntArrayRef sizes, at::ScalarType dtype) {
  constexpr size_t kMaxKept = 16;
  size_t free_other = tensors_.size();
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = tensors_[i];
    // Views that somebody still holds count as references to the storage.
    if (tensor.use_count() == 1 && tensor.storage().use_count() == 1) {
      if (tensor.scalar_type() == dtype && tensor.sizes() == sizes) {
        std::atomic_thread_fence(std::memory_order_acquire);  // its last user, maybe another thread, is done with it
        return tensor;
      }
      free_other = i;
    }
  }
  Tensor fresh = at::empty(sizes, at::TensorOptions().dtype(dtype));
  if (tensors_.size() < kMaxKept) {
    tensors_.push_back(fresh);
  } else if (free_other < tensors_.size()) {
    tensors_[free_other] = fresh;
  }
  return fresh;
}

}  // namespace flexor::data
