#pragma once
#include <cstddef>
#include <functional>
#include <variant>
#include <vector>

#include "curate/numeric_scan.h"

namespace flexor::curate {

/// Calls body(episode number, values of each feature) with all rows of one episode after the other, in the order of the
/// files. One episode is in memory at a time. Episodes without rows are left out.
/// @throws as NumericScan::run; Error(kData) for NaN or infinity, naming feature, file, episode, frame and dimension
void for_each_episode(const StatsSource& source, const NumericScan& scan,
                      const std::vector<const data::FeatureInfo*>& features,
                      const std::function<void(size_t, const std::vector<NumericValues>&)>& body);

/// The values as another type of number.
template <typename T>
std::vector<T> values_as(const NumericValues& values) {
  return std::visit([](const auto& typed) { return std::vector<T>(typed.begin(), typed.end()); }, values);
}

}  // namespace flexor::curate
