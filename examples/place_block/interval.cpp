#include "interval.h"

#include <algorithm>
#include <cmath>

namespace flexor::place_block {

Interval wilson(int64_t successes, int64_t trials) {
  constexpr double z = 1.959963984540054;  // 97.5 % quantile of the normal distribution
  const auto n = static_cast<double>(trials);
  const double share = static_cast<double>(successes) / n;
  const double centre = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  return {share, std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

Interval difference(const Interval& a, const Interval& b) {
  const double d = a.share - b.share;
  return {d, d - std::hypot(a.share - a.low, b.high - b.share), d + std::hypot(a.high - a.share, b.share - b.low)};
}

}  // namespace flexor::place_block
