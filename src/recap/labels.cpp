#include "recap/labels.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "recap/advantages.h"
#include "recap/recap_config.h"
#include "recap/threshold.h"

namespace flexor::recap {
namespace {

std::vector<double> pooled(const std::vector<LabelPool>& pools, bool rollout_only) {
  std::vector<double> scores;
  for (const LabelPool& pool : pools) {
    if (!rollout_only || !is_sft(pool.type)) {
      scores.insert(scores.end(), pool.scores.begin(), pool.scores.end());
    }
  }
  return scores;
}

std::map<std::string, double> thresholds_by_task(const std::vector<LabelPool>& pools, double quantile) {
  std::map<std::string, std::vector<double>> scores;
  for (const LabelPool& pool : pools) {
    for (size_t row = 0; row < pool.scores.size(); ++row) {
      scores[pool.tasks[row]].push_back(pool.scores[row]);
    }
  }
  std::map<std::string, double> thresholds;
  for (auto& [task, values] : scores) {
    thresholds[task] = positive_threshold(std::move(values), quantile);
  }
  return thresholds;
}

bool reaches(const LabelPool& pool, size_t row, const Labels& all) {
  return pool.scores[row] >= (all.by_task.empty() ? all.threshold : all.by_task.at(pool.tasks[row]));
}

}  // namespace

Labels label_pools(const std::vector<LabelPool>& pools, const LabelRules& rules) {
  Labels result;
  if (rules.threshold) {
    result.threshold = *rules.threshold;
  } else {
    const std::vector<double> scores = pooled(pools, rules.from == "rollout");
    if (scores.empty()) {
      throw Error(ErrorKind::kData, "no frame counts for the threshold: there are no rollout frames",
                  "advantage.threshold_from", "advantage.threshold_from=all");
    }
    result.threshold = positive_threshold(scores, rules.positive_quantile);
    if (rules.from == "task") {
      result.by_task = thresholds_by_task(pools, rules.positive_quantile);
    }
  }
  for (const LabelPool& pool : pools) {
    std::vector<uint8_t>& labels = result.labels.emplace_back();
    labels.reserve(pool.scores.size());
    const bool all_positive = rules.force_sft && is_sft(pool.type);
    for (size_t row = 0; row < pool.scores.size(); ++row) {
      labels.push_back(all_positive || reaches(pool, row, result) ? 1 : 0);
    }
  }
  return result;
}

LabelReport label_report(const LabelPool& pool, const std::vector<uint8_t>& labels, const Labels& all,
                         const std::vector<double>& values) {
  LabelReport report{.name = pool.name, .type = pool.type, .sidecar = {}};
  report.frames = static_cast<int64_t>(labels.size());
  report.positive = std::count(labels.begin(), labels.end(), 1);
  for (size_t row = 0; row < pool.scores.size(); ++row) {
    report.above += reaches(pool, row, all) ? 1 : 0;
  }
  if (!pool.scores.empty()) {
    const auto n = static_cast<double>(pool.scores.size());
    report.score_mean = std::accumulate(pool.scores.begin(), pool.scores.end(), 0.0) / n;
    report.score_min = *std::min_element(pool.scores.begin(), pool.scores.end());
    report.score_max = *std::max_element(pool.scores.begin(), pool.scores.end());
    report.value_mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  }
  return report;
}

void add_task_thresholds(Json& made_by, const Labels& labels) {
  if (labels.by_task.empty()) {
    return;
  }
  Json by_task = Json::object();
  for (const auto& [task, threshold] : labels.by_task) {
    by_task[task] = threshold;
  }
  made_by["task_thresholds"] = std::move(by_task);
}

Json to_json(const LabelReport& report) {
  return Json::object({{"name", report.name},
                       {"type", report.type},
                       {"file", report.sidecar},
                       {"frames", report.frames},
                       {"above_threshold", report.above},
                       {"positive", report.positive},
                       {"advantage_mean", report.score_mean},
                       {"advantage_min", report.score_min},
                       {"advantage_max", report.score_max},
                       {"value_mean", report.value_mean}});
}

}  // namespace flexor::recap
