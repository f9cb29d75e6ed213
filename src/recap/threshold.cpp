#include "recap/threshold.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace flexor::recap {

double positive_threshold(std::vector<double> scores, double positive_quantile) {
  if (scores.empty()) {
    throw Error(ErrorKind::kData, "no frame has a score, so there is no threshold");
  }
  // numpy divides the percentage by 100 again, and interpolates from the nearer end.
  const double share = (1.0 - positive_quantile) * 100.0 / 100.0;
  const double place = static_cast<double>(scores.size() - 1) * share;
  const double whole = std::floor(place), part = place - whole;
  const auto lower = scores.begin() + static_cast<std::ptrdiff_t>(whole);
  std::nth_element(scores.begin(), lower, scores.end());
  const double a = *lower;
  if (lower + 1 == scores.end()) {
    return a;
  }
  const double b = *std::min_element(lower + 1, scores.end());
  const double distance = b - a;
  return part >= 0.5 ? b - distance * (1.0 - part) : a + distance * part;
}

std::pair<int64_t, int64_t> shard_range(int64_t total, int64_t world, int64_t rank) {
  const int64_t base = total / world, extra = total % world;
  const int64_t first = rank * base + std::min(rank, extra);
  return {first, first + base + (rank < extra ? 1 : 0)};
}

}  // namespace flexor::recap
