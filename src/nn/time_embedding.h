#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>

namespace flexor::nn {

/// Sines then cosines of 2 pi t / period_i, with periods spaced geometrically from min_period to max_period; computed
/// in float64.
/// @param time  [B] float32  @param width  d, even and at least 4  @return [B, d] float32
at::Tensor time_embedding(const at::Tensor& time, int64_t width, double min_period, double max_period);

}  // namespace flexor::nn
