#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recap/labels.h"
#include "recap/recap_config.h"

namespace flexor::recap {

struct RelabelOptions {
  std::optional<std::string> source_tag = {}, new_tag = {};  ///< null: advantage.tag of the configuration
  std::optional<int64_t> lookahead = {};  ///< recompute the advantages with this N from the values that are there
  std::optional<double> threshold = {};   ///< given instead of a quantile
  /// As RLinf's relabel_advantages: sft frames are labelled like all others, weights in mixture_config.yaml become 1,
  /// and the threshold goes to its top level too.
  bool reference = false;
};

struct RelabelResult {
  double threshold = 0;
  std::map<std::string, double> by_task = {};
  std::vector<LabelReport> reports = {};
};

/// Labels the datasets of the step anew from the sidecars that are there, with advantage.positive_quantile and
/// advantage.threshold_from: no model runs, no data file or outcome is changed. Writes meta/advantages[_NEW].parquet
/// and notes the threshold in meta/mixture_config.yaml. All datasets are computed before the first file is written.
/// @throws Error(kFile) for unknown tags; Error(kData) if values or returns are missing for a new look-ahead;
///         Error(kConfig)
RelabelResult relabel(const RecapConfig& config, const RelabelOptions& options);

}  // namespace flexor::recap
