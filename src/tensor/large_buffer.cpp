#include "tensor/large_buffer.h"

#include <c10/core/StorageImpl.h>
#include <malloc.h>

#include "base/error.h"
#include "base/str_cat.h"
#include "tensor/block_pool.h"
#include "tensor/tensor.h"

namespace flexor {
namespace {

void give_back(void* address) {
  BlockPool::of_process().give(address);
}

BlockPool::Block block_of(size_t bytes) {
  const BlockPool::Block block = BlockPool::of_process().take(bytes);
  if (block.address == nullptr) {
    throw Error(ErrorKind::kRuntime, str_cat("no memory for a buffer of ", bytes, " bytes"), {},
                "a smaller batch_size, or parallel.strategy=zero3 on more ranks");
  }
  return block;
}

}  // namespace

c10::DataPtr large_buffer(size_t bytes, c10::Device device, c10::Allocator* allocator) {
  if (!device.is_cpu() || bytes == 0) {
    return allocator->allocate(bytes);
  }
  void* address = block_of(bytes).address;
  return {address, address, &give_back, device};
}

Tensor large_zeros(int64_t count, const at::TensorOptions& options) {
  Tensor tensor = at::empty({0}, options);
  if (!tensor.is_cpu()) {
    return at::zeros({count}, options);
  }
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous({count});
  if (const size_t bytes = static_cast<size_t>(count) * tensor.element_size(); bytes > 0) {
    const BlockPool::Block block = block_of(bytes);
    tensor.storage().set_data_ptr_noswap({block.address, block.address, &give_back, tensor.device()});
    tensor.storage().set_nbytes(bytes);
    if (!block.is_zero) {
      tensor.zero_();
    }
  }
  return tensor;
}

Tensor lasting_zeros(const Tensor& like, at::ScalarType dtype) {
  constexpr double kLeastBytes = 1 << 20;  // below, a page of its own costs more than a hole
  const auto options = like.options().dtype(dtype).requires_grad(false);
  const double bytes = static_cast<double>(like.numel()) * static_cast<double>(c10::elementSize(dtype));
  return bytes < kLeastBytes ? at::zeros(like.sizes(), options) : large_zeros(like.numel(), options).view(like.sizes());
}

Tensor lasting_copy(const Tensor& source, at::ScalarType dtype) {
  const at::NoGradGuard no_graph;
  return lasting_zeros(source, dtype).copy_(source);
}

void trim_heap() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace flexor
