#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace flexor::place_block {

/// Random numbers that are the same on every machine: of the standard library only the engine is.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  /// In [low, high).
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1.0p-53;
  }
  /// Of mean 0 and the given deviation (Box and Muller).
  double normal(double deviation) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(0, 1)));
    return deviation * radius * std::cos(2.0 * std::numbers::pi * uniform(0, 1));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace flexor::place_block
