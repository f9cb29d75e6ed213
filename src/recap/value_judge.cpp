#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "dist/choose_device.h"
#include "dist/preflight.h"
#include "recap/advantages_step.h"
#include "recap/ranks.h"
#include "recap/value_checkpoint.h"
#include "recap/value_estimator.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

class ValueJudge final : public FrameJudge {
 public:
  ValueJudge(ValueEstimator estimator, const std::string& checkpoint, const std::string& precision)
      : estimator_(std::move(estimator)), identity_(judge_identity(checkpoint, precision)) {}

  const models::ValueConfig& config() const { return estimator_.config(); }

  data::BatchFormat format(const CameraSlots& slots) override {
    std::vector<std::string> cameras;
    for (const auto& [slot, camera] : slots) {
      cameras.push_back(camera);
    }
    return estimator_.format(cameras);
  }
  std::vector<float> values(const data::RawBatch& batch, const CameraSlots& slots) override {
    return estimator_.values(estimator_.prepare(batch, slots));
  }
  Json identity() const override { return identity_; }

 private:
  ValueEstimator estimator_;
  Json identity_;
};

/// Labels only mean something if values and returns are measured by the same scale.
void check_fit(const models::ValueConfig& model, const std::string& checkpoint, const RecapConfig& config,
               const ReturnRange& range) {
  const std::string& tag = config.advantages.advantage.returns_tag;
  if (!model.normalize_to_minus_one_zero) {
    throw Error(ErrorKind::kCheckpoint, "the value model was trained on targets in [0, 1], expected [-1, 0]",
                checkpoint, "data.normalize_to_minus_one_zero=true when it is trained");
  }
  if (!model.return_min) {
    log_warn("the value checkpoint does not say which returns it was trained on; nothing could be checked",
             {{"checkpoint", checkpoint}});
    return;
  }
  if (model.returns_tag != tag) {
    throw Error(
        ErrorKind::kData,
        str_cat("the value model was trained on returns of the tag '", model.returns_tag, "', found '", tag, "'"),
        checkpoint, str_cat("advantage.returns_tag=", model.returns_tag, ", or another checkpoint"));
  }
  constexpr double kTolerance = 1e-6;
  if (std::abs(*model.return_min - range.min) > kTolerance * std::abs(range.min)) {
    throw Error(ErrorKind::kData,
                str_cat("the value model was trained with the smallest return ", *model.return_min, ", the data have ",
                        range.min),
                checkpoint,
                str_cat("data.return_min=", *model.return_min, " data.return_max=", model.return_max.value_or(0),
                        ", or train it on these datasets"));
  }
}

}  // namespace

std::string value_checkpoint(const RecapConfig& config) {
  const std::string& given = config.advantages.advantage.value_checkpoint;
  if (given.empty() && config.output_dir.empty()) {
    throw Error(ErrorKind::kConfig,
                "expected a value checkpoint, or output_dir, whose best one is taken; found neither",
                "advantage.value_checkpoint", "advantage.value_checkpoint=.../global_step_N");
  }
  if (given.empty()) {
    return ValueRun(config.output_dir).best();
  }
  if (!fs::exists(given)) {
    throw Error(ErrorKind::kFile, "no such file or folder", given, "advantage.value_checkpoint=.../global_step_N");
  }
  return given;
}

std::unique_ptr<FrameJudge> open_value_judge(const RecapConfig& config, const ReturnRange& range) {
  const std::string checkpoint = value_checkpoint(config);
  const ValueModelSection& section = config.advantages.advantage.model;
  auto judge = std::make_unique<ValueJudge>(ValueEstimator::open(checkpoint, section), checkpoint, section.precision);
  check_fit(judge->config(), checkpoint, config, range);
  return judge;
}

AdvantagesResult run_advantages(const RecapConfig& config, const std::shared_ptr<dist::Group>& group) {
  dist::choose_device(config.device);
  const std::string checkpoint = value_checkpoint(config);  // is there, before all data are read
  check_ranks(*group, config, Step::kAdvantages, {{"the value checkpoint", checkpoint}});
  AdvantagesStepRun step(config, group);
  const std::unique_ptr<FrameJudge> judge = open_value_judge(config, step.range());
  dist::check_alike(*group, {{"the value model", judge->identity().dump()}});
  return step.run(*judge);
}

}  // namespace flexor::recap
