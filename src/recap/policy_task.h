#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/loader.h"
#include "dist/group.h"
#include "models/policy_model.h"
#include "recap/batch_order.h"
#include "recap/guidance_routing.h"
#include "recap/policy_checkpoint.h"
#include "recap/policy_setup.h"
#include "recap/training_folder.h"
#include "schema/batch.h"
#include "train/task.h"

namespace flexor::recap {

/// What GuidedPolicyTask works with.
struct GuidedPolicyParts {
  PolicyStep step;
  PolicyRun run;
  PolicyInputs inputs;
  PolicyFacts facts = {};
  std::shared_ptr<models::PolicyModel> model = {};
  std::shared_ptr<const RecapOrder> order = {};
  std::shared_ptr<dist::Group> group = {};
  int64_t first_step = 0;                                  ///< optimizer steps done before
  std::function<double(int64_t step)> learning_rate = {};  ///< of a step, counted from 0
  BestValue best = {};
};

/// Advantage-conditioned fine-tuning of pi0 and pi0.5: RECAP's step 4 as a task of train::Trainer. The label enters
/// through the prompt alone; what is drawn for a sample (routes, noise, times) depends on the seeds, the step and the
/// sample's place in it, whatever the ranks and micro batches.
class GuidedPolicyTask final : public train::Task {
 public:
  explicit GuidedPolicyTask(GuidedPolicyParts parts);

  const std::map<std::string, double>& last_validation() const { return last_validation_; }
  const BestValue& best() const { return best_.best(); }

  void fetch() override;
  train::TaskLoss forward() override;
  double waited_s() const override { return loader_.waited_s(); }
  train::DataSize size() const override;
  void step_done() override;
  Json take_metrics() override;
  bool validate(train::MetricsLog& log, int64_t step) override;
  std::string save(const train::LoopState& state) override;

 private:
  GuidedPolicyParts parts_;
  RoutingRule rule_;
  data::Loader loader_;
  BestKeeper best_;

  schema::Batch batch_;
  at::Tensor noise_, time_;
  std::vector<uint8_t> labels_;
  std::vector<data::AdvantageLabel> routes_;

  RoutingMetrics metrics_;  ///< since the last log row
  double real_dims_ = 0, learning_rate_ = 0;
  int64_t micro_batches_ = 0, steps_ = 0;
  int64_t step_ = 0;  ///< optimizer steps done
  std::map<std::string, double> last_validation_;
};

}  // namespace flexor::recap
