#include "data/stats_completion.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "data/dataset_stats.h"

namespace flexor::data {

CompletedStats complete_stats(const Mixture& mixture, const NeededStats& needed) {
  CompletedStats result{mixture.stats(), {}};
  std::vector<Dataset> datasets;
  for (const Mixture::Part& part : mixture.parts()) {
    datasets.push_back(part.dataset);
  }
  for (const auto& [feature, stats] : needed) {
    schema::FeatureStats& stored = result.stats[feature];
    std::vector<std::string> missing;
    std::copy_if(stats.begin(), stats.end(), std::back_inserter(missing),
                 [&](const std::string& stat) { return datasets.size() > 1 || !stored.has(stat); });
    if (missing.empty()) {
      continue;
    }
    const schema::FeatureStats computed = compute_stats(datasets, {feature}).at(feature);
    if (stored.values.empty()) {
      stored = computed;
    }
    for (const std::string& stat : missing) {
      stored.values[stat] = computed.at(stat);
    }
    log_info("statistics computed",
             {{"feature", feature}, {"stats", join_text(missing, ",")}, {"frames", mixture.num_frames()}});
    result.computed[feature] = std::move(missing);
  }
  return result;
}

}  // namespace flexor::data
