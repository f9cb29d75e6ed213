#include "dist/liveness.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "base/str_cat.h"
#include "dist/store_c10d.h"
#include "tensor/tensor.h"

namespace flexor::dist {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBeat(1000);
constexpr std::chrono::milliseconds kSilence(3000);   ///< between two looks; three beats
constexpr std::chrono::milliseconds kPatience(8000);  ///< for a verdict
constexpr std::chrono::milliseconds kFarewell(2200);  ///< two beats: all ranks have read what rank 0's store held
constexpr const char* kAnyReason = "any_reason";

}  // namespace

struct Liveness::State {
  int64_t rank = 0, world = 1;
  c10::intrusive_ptr<c10d::Store> store;
  std::mutex mutex;
  std::condition_variable wake;
  bool closing = false;
  bool serves = false;  ///< the store ends with this process
  std::string heard;    ///< what others left

  std::string key(const char* kind, int64_t r) const { return str_cat(kind, "/", r); }

  void beat(int64_t count) { store->set(key("beat", rank), store_bytes(std::to_string(count))); }

  void run() {
    int64_t count = 0;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, kBeat, [this] { return closing; })) {
      lock.unlock();
      try {
        beat(++count);
        listen();
      } catch (const std::exception&) {
        return;  // the store is gone, and whoever needs it will say so
      }
      lock.lock();
    }
  }

  std::vector<std::string> beats() {
    std::vector<std::string> values;
    for (int64_t r = 0; r < world; ++r) {
      const bool is_there = store->check({key("beat", r)});
      values.push_back(is_there ? store_text(store->get(key("beat", r))) : std::string());
    }
    return values;
  }

  void listen() {
    if (!store->check({kAnyReason})) {
      return;
    }
    std::string found;
    for (const char* kind : {"own", "seen"}) {
      for (int64_t r = 0; r < world && found.empty(); ++r) {
        if (r != rank && store->check({key(kind, r)})) {
          found = store_text(store->get(key(kind, r)));
        }
      }
    }
    const std::lock_guard lock(mutex);
    heard = std::move(found);
  }

  std::string known() {
    const std::lock_guard lock(mutex);
    return heard;
  }

  Verdict ask() {
    Verdict verdict;
    try {
      verdict.known = known();
      const std::vector<std::string> before = verdict.known.empty() ? beats() : std::vector<std::string>();
      const auto end = Clock::now() + kSilence;
      while (verdict.known.empty() && Clock::now() < end) {
        std::this_thread::sleep_for(kSilence / 10);
        listen();
        verdict.known = known();
      }
      if (!verdict.known.empty()) {
        return verdict;
      }
      const std::vector<std::string> after = beats();
      for (int64_t r = 0; r < world; ++r) {
        if (r != rank && before[static_cast<size_t>(r)] == after[static_cast<size_t>(r)]) {
          verdict.gone.push_back(r);
        }
      }
    } catch (const std::exception&) {
      verdict.store_lost = true;
    }
    return verdict;
  }
};

Liveness::Liveness(const Launch& launch, const std::string& prefix) : state_(std::make_shared<State>()) {
  state_->rank = launch.rank;
  state_->world = launch.world;
  state_->serves = launch.rank == 0 && !launch.store_is_external;
  state_->store = open_store(launch, /*may_serve=*/false, kPatience, prefix);
  state_->beat(0);
  std::thread([state = state_] { state->run(); }).detach();  // it may hang in a dead store; nobody waits for it
}

Liveness::~Liveness() {
  const std::lock_guard lock(state_->mutex);
  state_->closing = true;
  state_->wake.notify_all();
}

void Liveness::report(const std::string& reason, bool is_own) noexcept {
  try {
    auto done = std::make_shared<std::promise<void>>();
    auto future = done->get_future();
    const std::string text = is_own ? str_cat("rank ", state_->rank, " gave up: ", reason) : reason;
    std::thread([state = state_, text, is_own, done] {
      try {
        state->store->set(state->key(is_own ? "own" : "seen", state->rank), store_bytes(text));
        state->store->set(kAnyReason, store_bytes("1"));
      } catch (const std::exception&) {  // then nobody reads it
      }
      done->set_value();
    }).detach();
    future.wait_for(kPatience);
    linger();
  } catch (const std::exception&) {
  }
}

void Liveness::linger() const noexcept {
  if (state_->serves) {
    std::this_thread::sleep_for(kFarewell);
  }
}

Liveness::Verdict Liveness::ask() noexcept {
  Verdict lost;
  lost.store_lost = true;
  try {
    auto answer = std::make_shared<std::promise<Verdict>>();
    auto future = answer->get_future();
    std::thread([state = state_, answer] { answer->set_value(state->ask()); }).detach();
    return future.wait_for(kPatience) == std::future_status::ready ? future.get() : lost;
  } catch (const std::exception&) {
    return lost;
  }
}

}  // namespace flexor::dist
