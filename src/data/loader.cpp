#include "data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/str_cat.h"

namespace flexor::data {
namespace {

/// A batch that is being read ahead.
struct Slot {
  bool ready = false;
  RawBatch batch;
  std::exception_ptr error;  // instead of a batch
};

// Open videos per worker: half of what the process may open, at most 400 together.
size_t open_files_per_worker(int num_workers) {
  rlimit limit{};
  size_t together = 400;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    together = std::min<size_t>(together, limit.rlim_cur / 2);
  }
  return std::max<size_t>(4, together / static_cast<size_t>(std::max(1, num_workers)));
}

void check(const LoaderConfig& config) {
  if (config.num_workers < 0) {
    throw Error(ErrorKind::kConfig, str_cat("num_workers must not be negative, is ", config.num_workers),
                "num_workers");
  }
  if (config.prefetch <= 0) {
    throw Error(ErrorKind::kConfig, str_cat("prefetch must be positive, is ", config.prefetch), "prefetch");
  }
}

}  // namespace

struct Loader::State {
  State(std::shared_ptr<const Mixture> m, const LoaderConfig& c, std::shared_ptr<const BatchOrder> o,
        int64_t first_step)
      : mixture(std::move(m)),
        order(std::move(o)),
        slots(static_cast<size_t>(std::max(1, c.num_workers * c.prefetch))),
        next_read(first_step),
        next_out(first_step) {
    const size_t files = open_files_per_worker(c.num_workers);
    for (int i = 0; i < std::max(1, c.num_workers); ++i) {
      readers.push_back(std::make_unique<BatchReader>(mixture, c.format, files));
    }
  }

  ~State() {  // also when only some of the threads could be started
    {
      const std::lock_guard lock(mutex);
      closing = true;
    }
    room.notify_all();
    for (const auto& reader : readers) {
      reader->cancel();
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }

  const std::shared_ptr<const Mixture> mixture;
  const std::shared_ptr<const BatchOrder> order;
  std::vector<std::unique_ptr<BatchReader>> readers;  // one per worker; with none, the caller's
  std::vector<std::thread> threads;

  std::mutex mutex;
  std::condition_variable room, arrived;
  std::vector<Slot> slots;  // batch number k waits in slot k mod size
  int64_t next_read;        // batch that the next free worker takes
  int64_t next_out;         // batch that next() hands out
  bool closing = false;
  std::exception_ptr failure;
  double waited_s = 0;

  Slot& slot(int64_t step) { return slots[static_cast<size_t>(step) % slots.size()]; }

  RawBatch read(BatchReader& reader, int64_t step) const {
    const BatchOrder::Batch batch = order->batch(step);
    return reader.read(batch.positions, batch.epoch, batch.first_index);
  }

  void work(BatchReader& reader) {
    std::unique_lock lock(mutex);
    while (true) {
      room.wait(lock, [this] { return closing || next_read < next_out + static_cast<int64_t>(slots.size()); });
      if (closing) {
        return;
      }
      const int64_t step = next_read++;
      lock.unlock();
      Slot done;
      try {
        done.batch = read(reader, step);
      } catch (...) {
        done.error = std::current_exception();
      }
      done.ready = true;
      lock.lock();
      slot(step) = std::move(done);
      arrived.notify_all();
    }
  }

  // The next batch out of its slot, when it is there.
  RawBatch take() {
    std::unique_lock lock(mutex);
    if (failure) {
      std::rethrow_exception(failure);
    }
    arrived.wait(lock, [this] { return slot(next_out).ready; });
    Slot taken = std::exchange(slot(next_out), {});
    if (taken.error) {
      failure = taken.error;
      std::rethrow_exception(failure);
    }
    ++next_out;
    room.notify_one();
    return std::move(taken.batch);
  }
};

Loader::Loader(std::shared_ptr<const Mixture> mixture, const LoaderConfig& config, int64_t first_step)
    : Loader(mixture, config, std::make_shared<const Sampler>(*mixture, config.sampler), first_step) {}

Loader::Loader(std::shared_ptr<const Mixture> mixture, const LoaderConfig& config,
               std::shared_ptr<const BatchOrder> order, int64_t first_step) {
  check(config);
  state_ = std::make_unique<State>(std::move(mixture), config, std::move(order), first_step);
  for (int i = 0; i < config.num_workers; ++i) {
    state_->threads.emplace_back([s = state_.get(), i] { s->work(*s->readers[static_cast<size_t>(i)]); });
  }
}

Loader::~Loader() = default;

RawBatch Loader::next() {
  State& s = *state_;
  const double start = wall_seconds();
  RawBatch batch;
  if (s.threads.empty()) {
    batch = s.read(*s.readers[0], s.next_out);
    ++s.next_out;
  } else {
    batch = s.take();
  }
  s.waited_s += wall_seconds() - start;
  return batch;
}

int64_t Loader::step() const {
  return state_->next_out;
}

SamplerState Loader::state() const {
  return state_->order->state(step());
}

double Loader::epoch() const {
  const SamplerState at = state();
  return static_cast<double>(at.epoch) +
         static_cast<double>(at.start_index) / static_cast<double>(state_->order->num_frames());
}

const BatchOrder& Loader::order() const {
  return *state_->order;
}

double Loader::waited_s() const {
  return state_->waited_s;
}

}  // namespace flexor::data
