#pragma once
#include <cstdint>
#include <vector>

#include "recap/recap_config.h"

namespace flexor::recap {

/// Learning rates of RECAP's training steps, one a parameter group; step s counts from 0 and the rate is that of the
/// step about to be taken. W = warm-up steps, T = total_training_steps, m = floor as a share of the rate.
///
///   constant                            s < W: s / max(1, W); else 1
///   cosine                              s < W: s / max(1, W); else max(0, f (1 - m) + m),
///                                       f = (1 + cos(2 pi num_cycles p)) / 2, p = (s - W) / max(1, T - W)
///   openpi_cosine, ref_warmup_cosine    s < W: i + (1 - i) s / max(1, W), i = 1 / (W + 1);
///                                       else m + (1 - m) (1 + cos(pi min(1, p))) / 2
///   torch_constant                      1/3 for five steps, then 1
///   torch_cosine                        min_lr + (rate - min_lr) (1 + cos(pi s / T)) / 2
///
/// compat `reference`: cosines rise again after T, and the floor of `cosine` is min_lr / 1e-3 whatever the rate is;
/// `fixed`: nothing changes after T, and the floor is min_lr.
class RecapSchedule {
 public:
  /// @param rates  peak of every group; at least one
  RecapSchedule(const OptimSection& config, std::vector<double> rates);
  std::vector<double> rates(int64_t step) const;

 private:
  double factor(int64_t step) const;

  OptimSection config_;
  std::vector<double> rates_;
  double warmup_, floor_;
};

}  // namespace flexor::recap
