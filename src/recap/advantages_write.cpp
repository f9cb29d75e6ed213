#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "recap/advantages_part.h"
#include "recap/mixture_config.h"

namespace flexor::recap {
namespace {

Json provenance(const RecapConfig& config, const ReturnRange& range, const std::string& type, const Labels& labels,
                const Json& judge) {
  const AdvantageSection& section = config.advantages.advantage;
  Json made_by = Json::object({{"step", "advantages"},
                               {"tag", section.tag},
                               {"returns_tag", section.returns_tag},
                               {"type", type},
                               {"lookahead", config.advantages.data.advantage_lookahead_step},
                               {"gamma", config.advantages.data.gamma},
                               {"return_min", range.min},
                               {"return_max", range.max},
                               {"threshold", labels.threshold},
                               {"threshold_from", section.threshold_from},
                               {"positive_quantile", section.positive_quantile},
                               {"judge", judge}});
  add_task_thresholds(made_by, labels);
  return made_by;
}

}  // namespace

void AdvantagesStepRun::write(const Json& judge, AdvantagesResult& result) {
  const AdvantageSection& section = config_.advantages.advantage;
  std::vector<LabelPool> pools;
  std::vector<MixtureDataset> mixture;
  for (const auto& part : parts_) {
    LabelPool& pool = pools.emplace_back();
    pool.name = part->labelled.name, pool.type = part->labelled.type, pool.scores = part->rows.advantage_continuous;
    for (int64_t i = 0; section.threshold_from == "task" && i < part->num_rows; ++i) {
      pool.tasks.push_back(part->labelled.dataset.task(i));
    }
    mixture.push_back(part->labelled.mixture);
  }
  const Labels labels =
      label_pools(pools, {.positive_quantile = section.positive_quantile, .from = section.threshold_from});
  result.threshold = labels.threshold;
  result.by_task = labels.by_task;
  for (size_t i = 0; i < parts_.size(); ++i) {
    Part& part = *parts_[i];
    part.rows.advantage = labels.labels[i];
    LabelReport report = label_report(pools[i], labels.labels[i], labels, part.rows.value_current);
    report.sidecar = str_cat(part.labelled.root, "/meta/", sidecar_name("advantages", section.tag));
    write_advantages(report.sidecar, part.rows, part.labelled.name,
                     provenance(config_, range_, part.labelled.type, labels, judge));
    const std::string path = mixture_path(part.labelled.root);
    Json noted = read_mixture_config(path);
    note_advantages(noted, range_, mixture, section.tag, labels.threshold, section.positive_quantile);
    write_file_atomic(path, block_yaml(noted));
    log_info("advantages written",
             {{"file", report.sidecar}, {"frames", report.frames}, {"positive", report.positive}});
    result.reports.push_back(std::move(report));
  }
  for (const auto& part : parts_) {
    part->shards->remove();
  }
}

AdvantagesResult AdvantagesStepRun::run(FrameJudge& judge) {
  AdvantagesResult result;
  result.range = range_;
  const DataSection& data = config_.advantages.data;
  const AdvantageRules rules{.gamma = data.gamma,
                             .lookahead = data.advantage_lookahead_step,
                             .discount_next_value = config_.advantages.advantage.discount_next_value,
                             .range = range_};
  for (const auto& part : parts_) {
    judge_part(*part, judge, result);
    if (group_->is_main()) {
      part->rows = n_step_advantages(part->frames, part->values, part->num_rows, rules);
    }
  }
  result.is_main = group_->is_main();
  if (result.is_main) {
    write(judge.identity(), result);
  }
  return result;
}

}  // namespace flexor::recap
