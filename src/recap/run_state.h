#pragma once
#include <array>
#include <string>

#include "base/json.h"
#include "recap/file_hashes.h"
#include "recap/recap_config.h"
#include "recap/run_plan.h"

namespace flexor::recap {

inline constexpr Step kSteps[] = {Step::kReturns, Step::kValue, Step::kAdvantages, Step::kPolicy};

/// What is known of one step of a run.
struct StepState {
  enum class Status { kNever, kRunning, kDone };  ///< kRunning after the run was stopped: the step was interrupted
  Status status = Status::kNever;
  StepPlan plan;       ///< that it ran or runs with
  Json outputs, made;  ///< what it wrote, see outputs_of_step() and run_step(); of a step that is done
  double seconds = 0;
};

/// OUT/recap_run.json: the steps of a run and the hashes of the files that they read and wrote.
class RunState {
 public:
  /// Reads the file if it is there. @throws Error(kFile), Error(kData) if it is no state of a run
  explicit RunState(const std::string& output_dir);

  const std::string& path() const { return path_; }
  StepState& step(Step step) { return steps_[static_cast<size_t>(step)]; }
  FileHashes& hashes() { return hashes_; }
  /// Writes it, whole or not at all. @throws Error(kFile)
  void save() const;

 private:
  std::string path_;
  std::array<StepState, std::size(kSteps)> steps_;
  FileHashes hashes_;
};

}  // namespace flexor::recap
