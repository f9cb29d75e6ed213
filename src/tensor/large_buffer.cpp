#include "tensor/large_buffer.h"

#include <c10/core/StorageImpl.h>
#include <malloc.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/str_cat.h"
#include "tensor/absent.h"
#include "tensor/tensor.h"

namespace flexor {
namespace {

struct Mapping {
  void* address;
  size_t bytes;
};

void unmap(void* context) {
  const auto* mapping = static_cast<Mapping*>(context);
  ::munmap(mapping->address, mapping->bytes);
  delete mapping;
}

}  // namespace

c10::DataPtr large_buffer(size_t bytes, c10::Device device, c10::Allocator* allocator) {
  if (!device.is_cpu() || bytes == 0) {
    return allocator->allocate(bytes);
  }
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    throw Error(ErrorKind::kRuntime, str_cat("no memory for a buffer of ", bytes, " bytes"), {},
                "a smaller batch_size, or parallel.strategy=zero3 on more ranks");
  }
  ::madvise(address, bytes, MADV_HUGEPAGE);  // fewer page faults; no matter if the system has none
  return {address, new Mapping{address, bytes}, &unmap, device};
}

Tensor large_zeros(int64_t count, const at::TensorOptions& options) {
  Tensor tensor = at::empty({0}, options);
  if (!tensor.is_cpu()) {
    return at::zeros({count}, options);
  }
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous({count});
  allocate_storage(tensor);  // fresh pages are zero
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

void keep_heap_small() {
#ifdef __GLIBC__
  constexpr int kLarge = 4 << 20;  // bytes; the default grows up to 32 MiB with what is let go of
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
#endif
}

void trim_heap() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace flexor
