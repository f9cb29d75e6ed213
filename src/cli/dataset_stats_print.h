#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/json.h"
#include "curate/stats_source.h"
#include "schema/norm_stats.h"

namespace flexor::cli {

/// What `dataset stats` has to say.
struct StatsReport {
  std::string method;
  bool left_alone = false;       ///< the stored statistics were complete
  schema::NormStats stats;       ///< by recorded names
  schema::NormStats norm_stats;  ///< "state", "actions"; empty unless asked for
  std::vector<std::string> written;
  int64_t num_pictures = 0;
};

Json to_json(const curate::StatsSource& source, const StatsReport& report);
void print(std::ostream& out, const curate::StatsSource& source, const StatsReport& report);

}  // namespace flexor::cli
