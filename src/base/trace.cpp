#include "base/trace.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>

namespace flexor {
namespace {

struct Registry {
  std::mutex mutex;
  std::deque<TraceCounter> counters;  // a deque: references stay valid
};

/// Instrumentation must be reachable from any depth without being passed through every signature.
Registry& registry() {
  static auto* the_registry = new Registry;  // never destroyed: scopes may end in late destructors
  return *the_registry;
}

int64_t now_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

TraceCounter& trace_counter(std::string_view name) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (TraceCounter& counter : all.counters) {
    if (counter.name == name) {
      return counter;
    }
  }
  TraceCounter& counter = all.counters.emplace_back();
  counter.name = name;
  return counter;
}

TraceScope::TraceScope(TraceCounter& counter) : counter_(counter), start_(now_nanoseconds()) {}

TraceScope::~TraceScope() {
  counter_.nanoseconds.fetch_add(now_nanoseconds() - start_, std::memory_order_relaxed);
  counter_.passes.fetch_add(1, std::memory_order_relaxed);
}

std::vector<TraceTotal> trace_totals() {
  Registry& all = registry();
  std::vector<TraceTotal> totals;
  {
    const std::lock_guard lock(all.mutex);
    for (const TraceCounter& counter : all.counters) {
      if (const int64_t passes = counter.passes.load(); passes > 0) {
        totals.push_back({counter.name, 1e-9 * static_cast<double>(counter.nanoseconds.load()), passes});
      }
    }
  }
  std::stable_sort(totals.begin(), totals.end(),
                   [](const TraceTotal& a, const TraceTotal& b) { return a.seconds > b.seconds; });
  return totals;
}

}  // namespace flexor
