#include "recap/run_step.h"

#include <filesystem>
#include <vector>

#include "base/str_cat.h"
#include "base/text.h"
#include "recap/advantages_step.h"
#include "recap/policy_step.h"
#include "recap/returns_step.h"
#include "recap/run_plan.h"
#include "recap/steam_labels.h"
#include "recap/steam_step.h"
#include "recap/value_step.h"

namespace flexor::recap {
namespace {

Json returns_made(const std::vector<ReturnsReport>& reports) {
  Json datasets = Json::array();
  for (const ReturnsReport& report : reports) {
    datasets.push_back(Json::object({{"name", report.name},
                                     {"type", report.type},
                                     {"file", report.sidecar},
                                     {"episodes", report.episodes},
                                     {"successes", report.successes},
                                     {"frames", report.frames}}));
  }
  return Json::object({{"datasets", datasets}});
}

Json training_made(const TrainingReport& report) {
  Json validation = Json::object();
  for (const auto& [name, value] : report.validation) {
    validation[name] = value;
  }
  // Of a training that was stopped behind its last checkpoint: nothing was left to save.
  const std::string last = std::filesystem::weakly_canonical(report.folder + "/checkpoints/last").string();
  return Json::object({{"checkpoint", report.checkpoint.empty() ? last : report.checkpoint},
                       {"best", report.best},
                       {"steps", report.steps},
                       {"final_loss", report.final_loss},
                       {"samples_per_s", report.samples_per_s},
                       {"best_step", report.best_step < 0 ? Json() : Json(report.best_step)},
                       {"validation", validation}});
}

Json advantages_made(const AdvantagesResult& result) {
  Json datasets = Json::array();
  for (const LabelReport& report : result.reports) {
    datasets.push_back(to_json(report));
  }
  return Json::object({{"threshold", result.threshold},
                       {"datasets", datasets},
                       {"judged", result.judged},
                       {"resumed", result.resumed},
                       {"samples_per_s", result.samples_per_s()}});
}

int64_t sum_of(const Json& datasets, std::string_view key) {
  int64_t sum = 0;
  for (const Json& dataset : datasets.as_array()) {
    sum += dataset.at(key).as_int();
  }
  return sum;
}

}  // namespace

Json run_step(const RecapConfig& config, Step step, const std::shared_ptr<dist::Group>& group) {
  switch (step) {
    case Step::kReturns:
      return returns_made(compute_returns(config));
    case Step::kValue:
      return training_made(trains_ensemble(config) ? train_steam(config, group) : train_value(config, group));
    case Step::kAdvantages:
      return advantages_made(labels_with_ensemble(config) ? run_steam_labels(config, group)
                                                          : run_advantages(config, group));
    case Step::kPolicy:
      break;
  }
  return training_made(train_policy(config, group));
}

std::string shown_result(Step step, const Json& made) {
  if (step == Step::kReturns) {
    const Json& datasets = made.at("datasets");
    return str_cat(datasets.size(), datasets.size() == 1 ? " dataset, " : " datasets, ", sum_of(datasets, "episodes"),
                   " episodes, ", sum_of(datasets, "successes"), " successes");
  }
  if (step == Step::kAdvantages) {
    const Json& datasets = made.at("datasets");
    const auto frames = static_cast<double>(sum_of(datasets, "frames"));
    const auto positive = static_cast<double>(sum_of(datasets, "positive"));
    return str_cat(short_number(frames, 12), " frames, ", short_number(100 * positive / frames, 3),
                   " % positive, threshold ", short_number(made.at("threshold").as_double()));
  }
  return str_cat(made.at("checkpoint").as_string(), ", loss ", short_number(made.at("final_loss").as_double()));
}

}  // namespace flexor::recap
