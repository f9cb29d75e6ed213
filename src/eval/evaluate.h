#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "data/raw_batch.h"
#include "dist/shared_work.h"
#include "policy/policy.h"

namespace flexor::eval {

struct EvalOptions {
  std::optional<int64_t> num_steps = std::nullopt;  ///< denoising steps; none: the policy's
  policy::Guidance guidance = {};                   ///< of the sampled actions; `loss` is that of the plain prompt
  uint64_t seed = 0;                           ///< noise and time, per frame: results do not depend on the batch size
  std::vector<std::string> action_names = {};  ///< A names for the report; empty: action_0, action_1, ...
};

/// What a policy predicted at one frame, and what was recorded, in physical units.
struct EvalSample {
  int64_t episode = 0, frame = 0;
  std::vector<std::vector<double>> predicted;  ///< [T][A]
  std::vector<std::vector<double>> recorded;   ///< up to the end of the episode
};

/// Open-loop error of a policy on recorded frames, in physical units. Axes: T action horizon, A real action dims.
/// Steps beyond the end of an episode count in `loss` (as in training) and nowhere else.
struct EvalResult {
  double loss = 0;                                       ///< flow-matching loss, mean over frames
  std::vector<double> mae;                               ///< [A]
  std::vector<double> mae_by_step;                       ///< [T]; NaN where no frame reaches that far
  std::vector<std::vector<double>> mae_by_step_and_dim;  ///< [T][A]
  std::vector<std::string> names;                        ///< [A]
  double baseline_hold_mae = 0;                          ///< of a robot that holds still; see `baseline_hold`
  double baseline_mean_mae = 0;  ///< of the mean action of the policy's statistics; NaN if they have no mean
  std::string baseline_hold;     ///< "state": the observed state is held; "first_action": state and action differ in
                                 ///< size, so the first recorded action of the chunk is
  int64_t frames = 0;
  policy::Guidance guidance;        ///< what was asked for
  std::vector<EvalSample> samples;  ///< up to four, the first frames of batches that are evenly spaced
};

/// The batches to evaluate on.
struct EvalBatches {
  int64_t count = 0;
  std::function<data::RawBatch(int64_t number)> read;  ///< called by the rank that evaluates it, in ascending order
  std::function<void(int64_t number)> done = {};       ///< after each, of all ranks; may be empty
};

/// @param group  ranks that share the batches; all get the same result, which does not depend on their number
/// @throws Error(kData) if there is no frame or a batch does not fit the policy; Error(kInterrupted) after
///         Ctrl-C, Error(kTerminated) after SIGTERM
EvalResult evaluate(policy::Policy& policy, const EvalBatches& batches, const EvalOptions& options,
                    const std::shared_ptr<dist::Group>& group = dist::group_of_one());

/// The object of `eval.json` and `flexor eval --json`; NaN is written as null.
Json to_json(const EvalResult& result);
/// {names, samples: [{episode, frame, predicted, recorded}]}
Json samples_json(const EvalResult& result);
/// Writes DIR/eval.json and DIR/samples.json (DIR is made when missing) and returns the path of the first.
/// @throws Error(kFile)
std::string write_json(const EvalResult& result, const std::string& folder);

}  // namespace flexor::eval
