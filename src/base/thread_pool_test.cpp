#include "base/thread_pool.h"

#include <atomic>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace flexor {
namespace {

TEST(ThreadPool, RunsEveryIndexOnce) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> counts(1000);
  pool.parallel_for(1000, [&](int64_t i) { counts[static_cast<size_t>(i)].fetch_add(1); });
  for (const auto& count : counts) {
    EXPECT_EQ(count.load(), 1);
  }
}

TEST(ThreadPool, RethrowsTheFailureOfTheLowestIndexAfterAllAreDone) {
  ThreadPool pool(4);
  std::atomic<int> done = 0;
  try {
    pool.parallel_for(50, [&](int64_t i) {
      done.fetch_add(1);
      if (i % 10 == 7) {
        throw std::runtime_error(std::to_string(i));
      }
    });
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "7");
  }
  EXPECT_EQ(done.load(), 50);
}

TEST(ThreadPool, NestedLoopsDoNotDeadlock) {
  ThreadPool pool(2);
  std::atomic<int> sum = 0;
  pool.parallel_for(8, [&](int64_t) { pool.parallel_for(8, [&](int64_t) { sum.fetch_add(1); }); });
  EXPECT_EQ(sum.load(), 64);
}

TEST(ThreadPool, FuturesCarryExceptionsAndTheDestructorFinishesTheWork) {
  std::atomic<int> done = 0;
  std::future<void> failed;
  {
    ThreadPool pool(1);
    failed = pool.submit([] { throw std::logic_error("no"); });
    for (int i = 0; i < 20; ++i) {
      pool.submit([&] { done.fetch_add(1); });
    }
  }
  EXPECT_THROW(failed.get(), std::logic_error);
  EXPECT_EQ(done.load(), 20);
}

}  // namespace
}  // namespace flexor
