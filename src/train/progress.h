#pragma once
#include <cstdint>
#include <deque>

namespace flexor::train {

/// Counters of a run that a checkpoint keeps.
struct Progress {
  int64_t step = 0;      ///< optimizer steps done
  int64_t samples = 0;   ///< over all ranks
  double elapsed_s = 0;  ///< of all processes that worked on the run
  int64_t schedule_steps = 0;
  std::deque<double> recent_losses = {};  ///< of the last 50 steps
  bool validation_due = false;            ///< of `step`: a signal came before it, or during it
};

}  // namespace flexor::train
