#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace flexor::recap {

/// One dataset whose frames are to be labelled.
struct LabelPool {
  std::string name = {}, type = {};
  std::vector<double> scores = {};
  std::vector<std::string> tasks = {};  ///< of every frame; needed by thresholds per task only
};

struct LabelRules {
  double positive_quantile = 0.3;
  std::string from = "all";              ///< scores whose quantile is the threshold: all, rollout, task
  std::optional<double> threshold = {};  ///< given instead
  bool force_sft = true;                 ///< every frame of an sft dataset is positive
};

struct Labels {
  double threshold = 0;                           ///< of all pools that count; also with thresholds per task
  std::map<std::string, double> by_task = {};     ///< with from = task
  std::vector<std::vector<uint8_t>> labels = {};  ///< per pool
};

/// A frame is positive if its score reaches the threshold, or if it is a demonstration.
/// @throws Error(kData) if no frame counts: from = rollout without rollout frames
Labels label_pools(const std::vector<LabelPool>& pools, const LabelRules& rules);

/// What was labelled, for people.
struct LabelReport {
  std::string name = {}, type = {}, sidecar = {};
  int64_t frames = 0, above = 0, positive = 0;  ///< above: score reaches the threshold
  double score_mean = 0, score_min = 0, score_max = 0, value_mean = 0;
};
LabelReport label_report(const LabelPool& pool, const std::vector<uint8_t>& labels, const Labels& all,
                         const std::vector<double>& values);
Json to_json(const LabelReport& report);

/// Notes thresholds of tasks, if there are any, as member task_thresholds.
void add_task_thresholds(Json& made_by, const Labels& labels);

}  // namespace flexor::recap
