#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>

namespace flexor {

/// A fixed number of threads that run tasks in the order of submission. The destructor finishes what was submitted.
class ThreadPool {
 public:
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// The future holds the task's exception, if any.
  std::future<void> submit(std::function<void()> task);
  /// Runs body(0..n-1) on the pool, waits for all, rethrows the exception of the lowest index.
  void parallel_for(int64_t n, const std::function<void(int64_t)>& body);
  int size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flexor
