#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/folder_lock.h"
#include "base/json.h"
#include "dist/shared_work.h"
#include "recap/recap_config.h"
#include "recap/run_state.h"

namespace flexor::recap {

struct RunOptions {
  Step from = Step::kReturns, to = Step::kPolicy;
  bool force = false;                                         ///< run every step of the range from its start
  std::shared_ptr<dist::Group> group = dist::group_of_one();  ///< of meet_ranks(): the ranks that share the steps
};

/// One line of what a run did.
struct StepRow {
  Step step = Step::kReturns;
  /// ran; resumed: went on where it was stopped; skipped: nothing changed; not asked for: outside of from..to;
  /// not needed: STEAM reads no returns
  std::string result;
  std::string why;     ///< of ran and resumed: "settings changed: ..."; may be empty
  double seconds = 0;  ///< of ran and resumed
  Json made;           ///< what the step wrote, see run_step(); null if it never ran
};

/// Runs the steps of RECAP, one after the other, with one configuration. A step whose settings, input files and outputs
/// are what they were when it was done is skipped; one that was interrupted, or may take more steps than it took, goes
/// on; all else starts anew. What is
/// known of the steps stands in OUT/recap_run.json, the configuration in OUT/config.yaml. Everything that can be
/// checked before the first step is checked then, and all problems are listed at once. This is the work of the main
/// rank; the others call help_with_run().
class RecapRun {
 public:
  /// @throws Error(kConfig), Error(kFile), Error(kData)
  RecapRun(const RecapConfig& config, const RunOptions& options);

  /// @throws Error(kData) if a step before `from` is not up to date; Error(kInterrupted), Error(kTerminated): the same
  ///         command goes on; what the steps throw
  std::vector<StepRow> run();

 private:
  std::vector<StepRow> visit_all();
  StepRow visit(Step step);
  StepRow execute(Step step, StepPlan plan, const std::string& why);
  void require_done(Step step);
  std::string why_not_done(Step step, const StepPlan& plan);
  std::string changed_output(Step step);
  bool goes_on(Step step, const StepPlan& plan);

  RecapConfig config_;
  RunOptions options_;
  FolderLock lock_;  ///< of OUT
  RunState state_;
};

/// What the other ranks do while the main one runs a RecapRun: they take part in the steps that ranks share, 2, 3 and
/// 4, and wait meanwhile. Returns when the run has ended.
/// @throws what the steps throw; Error(kRuntime) if the main rank gave up; Error(kInterrupted), Error(kTerminated)
void help_with_run(RecapConfig config, const std::shared_ptr<dist::Group>& group);

}  // namespace flexor::recap
