#pragma once
#include <map>
#include <string>
#include <vector>

#include "data/mixture.h"
#include "schema/norm_stats.h"

namespace flexor::data {

/// Feature -> names of the statistics that are needed: {"action": {"q01", "q99"}}.
using NeededStats = std::map<std::string, std::vector<std::string>>;

struct CompletedStats {
  schema::NormStats stats;
  NeededStats computed;  ///< what the dataset lacked
};

/// The mixture's stored statistics, with those that are needed and not stored computed exactly over its frames
/// (compute_stats). Stored ones are kept; quantiles of a mixture are always computed, since stored ones cannot be
/// merged. Logs one line for each feature that was computed.
/// @throws Error(kData) for a feature that is neither stored nor a column in memory, or that is not finite
CompletedStats complete_stats(const Mixture& mixture, const NeededStats& needed);

}  // namespace flexor::data
