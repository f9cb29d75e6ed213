#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace flexor {

struct ThreadPool::State {
  std::mutex mutex;
  std::condition_variable not_empty;
  std::deque<std::packaged_task<void()>> tasks;
  bool closed = false;
  std::vector<std::thread> threads;

  ~State() {  // also when only some of the threads could be started
    {
      const std::lock_guard lock(mutex);
      closed = true;
    }
    not_empty.notify_all();
    for (std::thread& thread : threads) {
      thread.join();
    }
  }

  void work() {
    while (true) {
      std::packaged_task<void()> task;
      {
        std::unique_lock lock(mutex);
        not_empty.wait(lock, [this] { return closed || !tasks.empty(); });
        if (tasks.empty()) {
          return;
        }
        task = std::move(tasks.front());
        tasks.pop_front();
      }
      task();
    }
  }
};

ThreadPool::ThreadPool(int num_threads) : state_(std::make_unique<State>()) {
  for (int i = 0; i < std::max(1, num_threads); ++i) {
    state_->threads.emplace_back([state = state_.get()] { state->work(); });
  }
}

ThreadPool::~ThreadPool() = default;

std::future<void> ThreadPool::submit(std::function<void()> task) {
  std::packaged_task<void()> packaged(std::move(task));
  std::future<void> future = packaged.get_future();
  {
    const std::lock_guard lock(state_->mutex);
    state_->tasks.push_back(std::move(packaged));
  }
  state_->not_empty.notify_one();
  return future;
}

namespace {

/// One parallel_for: indices are handed out one by one, to the pool's threads and to the caller, who therefore never
/// waits for a thread that is busy with something else (a nested call cannot deadlock).
struct Loop {
  const std::function<void(int64_t)>* body;
  int64_t n;
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::condition_variable all_done;
  int64_t done = 0;
  int64_t failed_index = -1;
  std::exception_ptr failure;

  void help() {
    for (int64_t i = next.fetch_add(1); i < n; i = next.fetch_add(1)) {
      std::exception_ptr exception;
      try {
        (*body)(i);
      } catch (...) {
        exception = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      if (exception && (failed_index < 0 || i < failed_index)) {
        failed_index = i;
        failure = exception;
      }
      if (++done == n) {
        all_done.notify_all();
      }
    }
  }
};

}  // namespace

void ThreadPool::parallel_for(int64_t n, const std::function<void(int64_t)>& body) {
  if (n <= 0) {
    return;
  }
  const auto loop = std::make_shared<Loop>();  // shared: a late helper may look at it after the caller has left
  loop->body = &body;
  loop->n = n;
  for (int64_t i = 1; i < std::min<int64_t>(n, size()); ++i) {
    submit([loop] { loop->help(); });  // with the caller: as many as the pool has threads
  }
  loop->help();
  std::unique_lock lock(loop->mutex);
  loop->all_done.wait(lock, [&] { return loop->done == n; });
  if (loop->failure) {
    std::rethrow_exception(loop->failure);
  }
}

int ThreadPool::size() const {
  return static_cast<int>(state_->threads.size());
}

}  // namespace flexor
