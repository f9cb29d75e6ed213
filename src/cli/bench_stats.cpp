#include "cli/bench_stats.h"

#include <algorithm>
#include <ostream>

#include "base/clock.h"
#include "cli/print_json.h"

namespace flexor::cli {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0.0 : values[values.size() / 2];
}

Json summary(std::vector<double> values) {
  std::ranges::sort(values);
  if (values.empty()) {
    return Json::object({{"min", Json()}, {"median", Json()}, {"max", Json()}, {"n", 0}});
  }
  return Json::object(
      {{"min", values.front()}, {"median", median(values)}, {"max", values.back()}, {"n", values.size()}});
}

Stopwatch::Stopwatch() : wall_(wall_seconds()), cpu_(process_cpu_seconds()) {}

double Stopwatch::wall_s() const {
  return wall_seconds() - wall_;
}

void Stopwatch::stop(Timings& timings) const {
  timings.cpu_s.push_back(process_cpu_seconds() - cpu_);
  timings.wall_s.push_back(wall_s());
}

double peak_rss_gib() {
  return static_cast<double>(peak_rss_bytes()) / (1024.0 * 1024.0 * 1024.0);
}

void print_bench(std::ostream& out, const Json& result, bool json) {
  if (json) {
    print_json(out, result);
    return;
  }
  for (const auto& [key, value] : result.as_object()) {
    out << key << ": " << (value.is_string() ? value.as_string() : value.dump()) << '\n';
  }
}

}  // namespace flexor::cli
