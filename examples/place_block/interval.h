#pragma once
#include <cstdint>

namespace flexor::place_block {

/// A share and where the true one lies with 95 % confidence.
struct Interval {
  double share = 0, low = 0, high = 0;
};

/// Wilson's score interval of `successes` out of `trials` > 0 (Wilson 1927, without continuity correction).
Interval wilson(int64_t successes, int64_t trials);

/// Difference of two independent shares, a - b (Newcombe 1998, method 10: from the two score intervals).
Interval difference(const Interval& a, const Interval& b);

}  // namespace flexor::place_block
