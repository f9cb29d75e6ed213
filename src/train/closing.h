#pragma once
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "train/train_config.h"

namespace flexor::train {

/// The headline numbers of a run.
struct Closing {
  double samples_per_s = 0;  ///< over all ranks, steps first_step..last_step
  int64_t first_step = 0, last_step = 0;
  double final_loss = 0;  ///< mean of the last 50 steps
  double duration_s = 0;  ///< of all processes that worked on the run
  bool has_steps() const { return first_step <= last_step; }
};

/// Samples and seconds of the steps that one process did.
class Throughput {
 public:
  explicit Throughput(int64_t first_step) : first_step_(first_step) {}
  void add(int64_t samples, double seconds) { steps_.emplace_back(samples, seconds); }
  /// Without the first 20 steps, or the first tenth if that is less.
  void fill(Closing& closing) const;

 private:
  int64_t first_step_;
  std::vector<std::pair<int64_t, double>> steps_;
};

/// The three closing lines that scripts read, and the same in <Network>_bs<B>_<W>p_{perf,acc}.log of the run's folder.
void print_closing(std::ostream& out, const Closing& closing);
void write_closing(const Closing& closing, const TrainConfig& config, int64_t world);

}  // namespace flexor::train
