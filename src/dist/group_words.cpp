#include <chrono>
#include <thread>

#include "base/interrupt.h"
#include "base/str_cat.h"
#include "dist/group_c10d.h"
#include "dist/store_c10d.h"
#include "tensor/tensor.h"

namespace flexor::dist {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPause(50);
constexpr std::chrono::seconds kLook(20);  ///< between two questions whether rank 0 lives

/// Returns when the key is there.
void wait_for_word(Group::State& state, const std::string& key, const std::string& where) {
  auto next_look = Clock::now() + kLook;
  while (!state.store->check({key})) {
    check_interrupt();
    if (Clock::now() > next_look) {
      const Liveness::Verdict verdict = state.fate->liveness->ask();
      if (verdict.store_lost || !verdict.known.empty() || !verdict.gone.empty()) {
        state.fate->fail("a rank is gone", where, state.timeout_s);
      }
      next_look = Clock::now() + kLook;
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

std::string Group::broadcast_string(const std::string& words) {
  if (world() == 1) {
    return words;
  }
  const std::string key = str_cat("words/", ++state_->words);
  const std::string collective = "waiting for rank 0";
  return state_->guarded(collective, [&] {
    if (is_main()) {
      state_->store->set(key, store_bytes(words));
      return words;
    }
    wait_for_word(*state_, key, state_->where(collective));
    return store_text(state_->store->get(key));
  });
}

}  // namespace flexor::dist
