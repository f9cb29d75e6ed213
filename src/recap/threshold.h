#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace flexor::recap {

/// numpy.percentile(scores, (1 - positive_quantile) * 100), linear interpolation, bit for bit: what share
/// `positive_quantile` of the scores reaches. @throws Error(kData) for no scores
double positive_threshold(std::vector<double> scores, double positive_quantile);

/// Frames [first, end) of rank `rank`: contiguous, the first total % world ranks have one more.
std::pair<int64_t, int64_t> shard_range(int64_t total, int64_t world, int64_t rank);

}  // namespace flexor::recap
