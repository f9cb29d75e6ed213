#include "tensor/file_pages.h"

#include <algorithm>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "tensor/tensor.h"

namespace flexor {
namespace {

struct Mappings {
  std::mutex mutex;
  std::vector<std::weak_ptr<MappedFile>> files;
};

Mappings& mappings() {
  static Mappings all;
  return all;
}

}  // namespace

void remember_mapping(const std::shared_ptr<MappedFile>& file) {
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.files, [](const auto& known) { return known.expired(); });
  all.files.push_back(file);
}

void forget_file_pages(const Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_cpu() || !tensor.is_contiguous() || tensor.numel() == 0) {
    return;
  }
  const auto first = reinterpret_cast<uintptr_t>(tensor.const_data_ptr()), last = first + tensor.nbytes();
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  for (const auto& known : all.files) {
    const auto file = known.lock();
    const auto begin = file ? reinterpret_cast<uintptr_t>(file->data()) : 0;
    if (file && begin <= first && last <= begin + file->size()) {
      const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
      const uintptr_t from = (first + page - 1) / page * page, to = last / page * page;  // whole pages only
      if (to > from) {
        ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
      }
      return;
    }
  }
}

}  // namespace flexor
