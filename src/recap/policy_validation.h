#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "dist/group.h"
#include "models/policy_model.h"
#include "recap/guidance_routing.h"
#include "recap/policy_setup.h"
#include "recap/recap_config.h"

namespace flexor::recap {

/// Sums of losses over frames, each judged twice: with its label in the prompt and without.
class ValidationSums {
 public:
  /// @param labelled, plain  loss of the frame with its label's prompt, without label
  void add(bool is_positive, double labelled, double plain);
  /// @param sum  over frames, of the loss without label over the robot's own action dimensions
  void add_real_dims(double sum) { real_dims_ += sum; }
  void merge(const ValidationSums& other);
  /// All of it as numbers, to send to another rank, and back.
  std::vector<double> packed() const;
  static ValidationSums unpacked(std::span<const double> numbers);
  int64_t samples() const { return cells_[0].count + cells_[1].count; }

  /// loss: of each frame as it is trained when its label is not dropped: with it, but without where only positive
  /// samples are conditional and it is negative. positive_loss, negative_loss: with their prompts; unconditional_loss:
  /// all frames without label, positive_unconditional_loss and negative_unconditional_loss the same by label;
  /// positive_label_ratio; unconditional_loss_real_dims, over the robot's own action dimensions. What has no frames is
  /// left out.
  std::map<std::string, double> metrics(const RoutingRule& rule) const;

 private:
  struct Cell {
    int64_t count = 0;
    double labelled = 0, plain = 0;
  };
  Cell cells_[2];  ///< [is positive]
  double real_dims_ = 0;
};

struct PolicyValidation {
  Json row;                               ///< "eval/loss", ..., "eval/NAME/loss", ...: a row of metrics.jsonl
  std::map<std::string, double> metrics;  ///< over all datasets, frame by frame; without "eval/"
  int64_t samples = 0;
};

/// Losses on the first samples of every validation dataset, all of them, whatever the batch size. Noise and time of a
/// frame depend on the seed and the frame alone. The ranks share the batches and all get the same. Builds no graph.
/// @throws Error(kInterrupted), Error(kTerminated) between batches, on all ranks if on any
PolicyValidation validate_policy(models::PolicyModel& model, const PolicyInputs& inputs, const PolicyStep& step,
                                 dist::Group& group);

}  // namespace flexor::recap
