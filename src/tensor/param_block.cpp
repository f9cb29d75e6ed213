#include "tensor/param_block.h"

#include <atomic>

namespace flexor {
namespace {

std::atomic<BlockObserver*> current{nullptr};  // read by the threads of the backward pass too

}  // namespace

std::vector<ParamBlock> layer_blocks(const std::string& scope, size_t count) {
  std::vector<ParamBlock> blocks;
  for (size_t i = 0; i < count; ++i) {
    blocks.push_back({{scope + "layers." + std::to_string(i) + "."}});
  }
  return blocks;
}

BlockObserver* block_observer() {
  return current.load(std::memory_order_acquire);
}

void set_block_observer(BlockObserver* observer) {
  current.store(observer, std::memory_order_release);
}

}  // namespace flexor
