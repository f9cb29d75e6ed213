#include "tensor/absent.h"

#include <c10/core/StorageImpl.h>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "tensor/large_buffer.h"
#include "tensor/tensor.h"

namespace flexor {
namespace {

void delete_fetch(void* context) {
  delete static_cast<FetchValues*>(context);
}

/// No memory; the way to the values travels with the storage.
c10::DataPtr no_memory(FetchValues fetch, c10::Device device) {
  return {nullptr, new FetchValues(std::move(fetch)), &delete_fetch, device};
}

}  // namespace

Tensor absent_tensor(at::IntArrayRef shape, const at::TensorOptions& options, FetchValues fetch) {
  Tensor tensor = at::empty({0}, options);
  release_storage(tensor, std::move(fetch));
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(shape);
  return tensor;
}

void release_storage(const Tensor& tensor, FetchValues fetch) {
  const c10::Storage& storage = tensor.storage();
  storage.set_data_ptr_noswap(no_memory(std::move(fetch), tensor.device()));
  storage.set_nbytes(size_t{0});
}

void allocate_storage(const Tensor& tensor) {
  const c10::Storage& storage = tensor.storage();
  if (storage.nbytes() == 0 && tensor.numel() > 0) {
    const size_t bytes = static_cast<size_t>(tensor.numel()) * tensor.element_size();
    storage.set_data_ptr_noswap(large_buffer(bytes, tensor.device(), storage.allocator()));
    storage.set_nbytes(bytes);
  }
}

bool is_absent(const Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() && tensor.numel() > 0 && tensor.storage().nbytes() == 0;
}

Tensor present(const Tensor& tensor) {
  if (!is_absent(tensor)) {
    return tensor;
  }
  const auto* fetch = tensor.storage().data_ptr().cast_context<FetchValues>(&delete_fetch);
  if (fetch == nullptr || !tensor.is_contiguous()) {
    throw Error(ErrorKind::kRuntime, str_cat("a tensor of shape ", str_cat(tensor.sizes()), " has no memory"),
                "present()", "it was released without a way back");
  }
  return (*fetch)(tensor.storage_offset(), tensor.numel()).view(tensor.sizes());
}

}  // namespace flexor
