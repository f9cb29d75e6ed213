#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include "base/json.h"

namespace flexor::cli {

/// Seconds of repeated work, wall and CPU (all threads), one entry a repetition.
struct Timings {
  std::vector<double> wall_s, cpu_s;
};

/// {min, median, max, n}; the median of an even number is the upper of the two in the middle.
Json summary(std::vector<double> values);
double median(std::vector<double> values);

/// Notes wall and CPU time from its construction to stop().
class Stopwatch {
 public:
  Stopwatch();
  void stop(Timings& timings) const;
  double wall_s() const;

 private:
  double wall_, cpu_;
};

/// Largest resident memory of this process in GiB.
double peak_rss_gib();

/// Prints `result`: one JSON object on one line, or its members one a line (objects and lists as JSON).
void print_bench(std::ostream& out, const Json& result, bool json);

}  // namespace flexor::cli
