#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flexor {

/// Where the time went: seconds and passes of one named part of the program, over all threads. Adding costs two atomic
/// operations and a clock read; counters live until the program ends.
struct TraceCounter {
  std::string name;
  std::atomic<int64_t> nanoseconds{0}, passes{0};
};

/// The counter of that name, made when missing. Thread-safe. Keep the reference where the code is hot:
///   static TraceCounter& counter = trace_counter("loader.decode");
TraceCounter& trace_counter(std::string_view name);

/// Adds the time between its construction and its end to a counter: { const TraceScope scope(counter); decode(); }
class TraceScope {
 public:
  explicit TraceScope(TraceCounter& counter);
  explicit TraceScope(std::string_view name) : TraceScope(trace_counter(name)) {}
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  TraceCounter& counter_;
  int64_t start_;
};

struct TraceTotal {
  std::string name;
  double seconds = 0.0;  ///< summed over threads, so it may exceed the wall time
  int64_t passes = 0;
};
/// All counters that were passed, largest first.
std::vector<TraceTotal> trace_totals();

}  // namespace flexor
