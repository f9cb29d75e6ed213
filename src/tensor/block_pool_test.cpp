#include "tensor/block_pool.h"

#include <algorithm>
#include <c10/core/CPUAllocator.h>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "tensor/tensor.h"
#include "testing/sanitized.h"

namespace flexor {
namespace {

constexpr size_t kMiB = 1 << 20;

bool is_zero(const void* address, size_t bytes) {
  const auto* first = static_cast<const char*>(address);
  return std::all_of(first, first + bytes, [](char c) { return c == 0; });
}

TEST(BlockPool, DividesAndJoinsWhatWasGivenBack) {
  BlockPool pool;
  pool.set_keeping(true);
  const BlockPool::Block first = pool.take(3 * kMiB);
  EXPECT_TRUE(first.is_zero && is_zero(first.address, 3 * kMiB));
  std::memset(first.address, 1, 3 * kMiB);
  EXPECT_TRUE(pool.give(first.address));
  EXPECT_EQ(pool.bytes().kept, 3 * kMiB);
  const BlockPool::Block head = pool.take(2 * kMiB), tail = pool.take(kMiB), other = pool.take(kMiB);
  EXPECT_EQ(head.address, first.address);
  EXPECT_EQ(tail.address, static_cast<char*>(first.address) + 2 * kMiB);
  EXPECT_FALSE(head.is_zero || tail.is_zero);
  EXPECT_TRUE(other.is_zero && is_zero(other.address, kMiB));
  EXPECT_TRUE(pool.give(head.address) && pool.give(tail.address));
  EXPECT_EQ(pool.take(3 * kMiB).address, first.address);  // joined again
  EXPECT_EQ(pool.bytes().taken, 4 * kMiB);
  EXPECT_TRUE(pool.give(first.address) && pool.give(other.address));
}

TEST(BlockPool, NeverHoldsMoreThanWasTakenAtOnce) {
  BlockPool pool;
  pool.set_keeping(true);
  std::vector<void*> taken;
  size_t most = 0, now = 0;
  std::vector<size_t> sizes;
  for (size_t i = 0; i < 400; ++i) {
    if (i % 3 == 2 || i > 300) {
      const size_t which = (i * 7919) % taken.size();
      now -= sizes[which];
      EXPECT_TRUE(pool.give(taken[which]));
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(which));
      sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      sizes.push_back((1 + (i * 104729) % 17) * kMiB / 4);
      now += sizes.back();
      taken.push_back(pool.take(sizes.back()).address);
    }
    most = std::max(most, now);
    const BlockPool::Bytes bytes = pool.bytes();
    ASSERT_LE(bytes.taken + bytes.kept, bytes.most_taken);
    if (taken.empty()) {
      break;
    }
  }
  EXPECT_EQ(pool.bytes().most_taken, most);
  for (void* address : taken) {
    pool.give(address);
  }
  pool.trim();
  EXPECT_EQ(pool.bytes().kept + pool.bytes().taken, 0U);
}

TEST(BlockPool, KeepsNothingUnlessToldTo) {
  BlockPool pool;
  const BlockPool::Block block = pool.take(kMiB);
  EXPECT_TRUE(pool.give(block.address));
  EXPECT_EQ(pool.bytes().kept, 0U);
  EXPECT_FALSE(pool.give(block.address));  // of nobody now
  EXPECT_FALSE(pool.give(&pool));
}

TEST(BlockPool, HoldsLargeTensorsOfAllThreads) {
  if (testing::is_sanitized()) {
    GTEST_SKIP() << "the pool is not used there";
  }
  use_block_pool();
  const size_t before = BlockPool::of_process().bytes().taken;
  Tensor large = at::full({1 << 20}, 2.0F), small = at::full({8}, 2.0F);
  EXPECT_EQ(BlockPool::of_process().bytes().taken, before + 4 * kMiB);
  large.resize_({3 << 20}).narrow(0, 1 << 20, 2 << 20).fill_(2.0F);
  EXPECT_EQ(large.sum().item<float>(), 2 * (3 << 20));
  EXPECT_EQ(BlockPool::of_process().bytes().taken, before + 12 * kMiB);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (int64_t n = 1; n < 40; ++n) {
        const Tensor ones = at::ones({n << 16});
        EXPECT_EQ((ones * i).sum().item<float>(), static_cast<float>(i * (n << 16)));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  large.reset();
  EXPECT_EQ(BlockPool::of_process().bytes().taken, before);
  c10::Allocator& allocator = *c10::GetCPUAllocator();  // as code without tensors asks it
  for (const size_t bytes : {size_t{100}, 2 * kMiB}) {
    allocator.raw_deallocate(allocator.raw_allocate(bytes));
  }
  EXPECT_EQ(BlockPool::of_process().bytes().taken, before);
}

}  // namespace
}  // namespace flexor
