#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace flexor {

/// Memory in whole pages, straight from the system, for tensors that are large. What is given back is kept for the next
/// ones, joined with its neighbours and divided as needed, but never so much that kept and taken blocks together exceed
/// the most that was ever taken at the same time: keeping costs no memory at the peak. Thread-safe.
class BlockPool {
 public:
  struct Block {
    void* address = nullptr;  ///< null: the system has no memory
    bool is_zero = false;     ///< fresh pages
  };
  struct Bytes {
    size_t taken = 0, kept = 0, most_taken = 0;
  };

  BlockPool() = default;
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// That of the process; it is never destroyed, since tensors may outlive everything.
  static BlockPool& of_process();

  Block take(size_t bytes);
  /// @return false if the address is not of a block that was taken here
  bool give(void* address);
  /// Whether blocks are kept from now on; if not, the system has them back at once.
  void set_keeping(bool keeping);
  /// Gives all that is kept back to the system.
  void trim();
  Bytes bytes() const;

 private:
  struct Kept {
    size_t size;
    uint64_t turn;  ///< counts down: the youngest of a size comes first
  };
  using ByAddress = std::map<char*, Kept>;

  char* reuse_locked(size_t bytes);
  char* map_locked(size_t bytes);
  void keep_locked(char* address, size_t size);
  /// Takes a kept block out of the lists.
  ByAddress::iterator forget_locked(ByAddress::iterator block);
  /// Gives kept pages back, those first that were kept longest, until taken and kept ones are at most `most`.
  void shrink_locked(size_t most);

  mutable std::mutex mutex_;
  bool keeping_ = false;
  Bytes bytes_;
  uint64_t turn_ = UINT64_MAX;
  std::unordered_map<void*, size_t> taken_;  ///< sizes
  ByAddress kept_;
  std::map<std::pair<size_t, uint64_t>, char*> by_size_;  ///< kept: size and turn
  std::map<uint64_t, char*> by_turn_;                     ///< kept
};

/// From now on tensors on the CPU of 256 KiB or more are blocks of the process' pool, which keeps them. Does nothing
/// under sanitizers, which watch the memory of the C library only.
void use_block_pool();

}  // namespace flexor
