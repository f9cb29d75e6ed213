#include "tensor/block_pool.h"

#include <algorithm>
#include <c10/core/CPUAllocator.h>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#include "tensor/tensor.h"

namespace flexor {
namespace {

constexpr size_t kHugePage = 2 << 20;
constexpr size_t kLargeBytes = 256 << 10;  ///< smaller tensors live in the heap: pages of their own would cost more

size_t rounded_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

size_t page_size() {
  static const auto size = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif
#else
constexpr bool kIsSanitized = false;
#endif

/// PyTorch's memory on the CPU: large blocks from the pool, all others as before.
class PooledAllocator final : public c10::Allocator {
 public:
  explicit PooledAllocator(c10::Allocator* heap) : heap_(heap) {}

  c10::DataPtr allocate(size_t bytes) override {
    if (bytes >= kLargeBytes) {
      if (void* address = BlockPool::of_process().take(bytes).address; address != nullptr) {
        return {address, address, &give, c10::Device(c10::DeviceType::CPU)};
      }
    }
    return heap_->allocate(bytes);  // says it if there is no memory
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_or_free; }
  void copy_data(void* to, const void* from, size_t count) const override { default_copy_data(to, from, count); }

 private:
  static void give(void* address) { BlockPool::of_process().give(address); }
  static void give_or_free(void* address) {
    if (!BlockPool::of_process().give(address)) {
      c10::GetDefaultCPUAllocator()->raw_deleter()(address);
    }
  }

  c10::Allocator* heap_;
};

}  // namespace

BlockPool::~BlockPool() {
  trim();
}

BlockPool& BlockPool::of_process() {
  static auto* const pool = new BlockPool;  // NOLINT: it outlives all tensors
  return *pool;
}

BlockPool::Block BlockPool::take(size_t bytes) {
  bytes = rounded_up(std::max<size_t>(bytes, 1), page_size());
  const std::lock_guard lock(mutex_);
  char* address = reuse_locked(bytes);
  const bool is_zero = address == nullptr;
  address = is_zero ? map_locked(bytes) : address;
  if (address != nullptr) {
    taken_[address] = bytes;
    bytes_.taken += bytes;
    bytes_.most_taken = std::max(bytes_.most_taken, bytes_.taken);
  }
  return {address, is_zero};
}

/// The head of the smallest block that is large enough.
char* BlockPool::reuse_locked(size_t bytes) {
  const auto found = by_size_.lower_bound({bytes, 0});
  if (found == by_size_.end()) {
    return nullptr;
  }
  const auto [size, turn] = found->first;
  char* address = found->second;
  forget_locked(kept_.find(address));
  if (size > bytes) {
    kept_[address + bytes] = {size - bytes, turn};
    by_size_[{size - bytes, turn}] = by_turn_[turn] = address + bytes;
    bytes_.kept += size - bytes;
  }
  return address;
}

char* BlockPool::map_locked(size_t bytes) {
  shrink_locked(bytes_.most_taken > bytes ? bytes_.most_taken - bytes : 0);
  const size_t spare = bytes >= kHugePage ? kHugePage - page_size() : 0;  // to start where a huge page can
  const auto map = [&] {
    return ::mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  };
  void* mapped = map();
  if (mapped == MAP_FAILED) {  // of memory, address space or mappings
    shrink_locked(0);
    mapped = map();
  }
  if (mapped == MAP_FAILED) {
    return nullptr;
  }
  auto* address = static_cast<char*>(mapped);
  if (spare > 0) {
    const auto start = reinterpret_cast<uintptr_t>(address);
    const size_t before = rounded_up(start, kHugePage) - start;
    if (before > 0) {
      ::munmap(address, before);
    }
    if (spare > before) {
      ::munmap(address + before + bytes, spare - before);
    }
    address += before;
    ::madvise(address, bytes, MADV_HUGEPAGE);  // fewer page faults; no matter if the system has none
  }
  return address;
}

bool BlockPool::give(void* address) {
  if (reinterpret_cast<uintptr_t>(address) % page_size() != 0) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(address);
  if (found == taken_.end()) {
    return false;
  }
  const size_t size = found->second;
  taken_.erase(found);
  bytes_.taken -= size;
  if (keeping_) {
    keep_locked(static_cast<char*>(address), size);
  } else {
    ::munmap(address, size);
  }
  return true;
}

void BlockPool::keep_locked(char* address, size_t size) {
  auto next = kept_.lower_bound(address);
  if (next != kept_.end() && next->first == address + size) {
    size += next->second.size;
    next = forget_locked(next);
  }
  if (next != kept_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.size == address) {
      address = before->first;
      size += before->second.size;
      forget_locked(before);
    }
  }
  --turn_;
  kept_[address] = {size, turn_};
  by_size_[{size, turn_}] = by_turn_[turn_] = address;
  bytes_.kept += size;
}

BlockPool::ByAddress::iterator BlockPool::forget_locked(ByAddress::iterator block) {
  by_size_.erase({block->second.size, block->second.turn});
  by_turn_.erase(block->second.turn);
  bytes_.kept -= block->second.size;
  return kept_.erase(block);
}

void BlockPool::shrink_locked(size_t most) {
  while (!kept_.empty() && bytes_.taken + bytes_.kept > most) {
    const size_t excess = rounded_up(bytes_.taken + bytes_.kept - most, page_size());
    const auto oldest = kept_.find(std::prev(by_turn_.end())->second);
    char* address = oldest->first;
    const auto [size, turn] = oldest->second;
    const size_t stays = size > excess ? size - excess : 0;
    forget_locked(oldest);
    ::munmap(address + stays, size - stays);
    if (stays > 0) {
      kept_[address] = {stays, turn};
      by_size_[{stays, turn}] = by_turn_[turn] = address;
      bytes_.kept += stays;
    }
  }
}

void BlockPool::set_keeping(bool keeping) {
  const std::lock_guard lock(mutex_);
  keeping_ = keeping;
  if (!keeping) {
    shrink_locked(0);
  }
}

void BlockPool::trim() {
  const std::lock_guard lock(mutex_);
  shrink_locked(0);
}

BlockPool::Bytes BlockPool::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void use_block_pool() {
  if (kIsSanitized) {
    return;
  }
  static const bool done = [] {
    static PooledAllocator allocator(c10::GetCPUAllocator());
    c10::SetCPUAllocator(&allocator, /*priority=*/10);
    BlockPool::of_process().set_keeping(true);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace flexor
