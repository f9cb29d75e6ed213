#pragma once
#include <cstdint>
#include <string>

namespace flexor::config {
class FieldTable;
}

namespace flexor::optim {

/// Warm-up and cosine decay of the learning rate.
struct ScheduleConfig {
  std::string type =
      "cosine_decay_with_warmup";  ///< LeRobot's; "openpi", whose cosine starts after the warm-up; "constant"
  int64_t warmup_steps = 1000;
  int64_t decay_steps = 30000;
  double decay_lr = 2.5e-6;  ///< learning rate from decay_steps on
};
void fields(config::FieldTable& table, ScheduleConfig& config);

/// The learning rate of every step, counted from 0: lr(k) is set before step k.
///
/// cosine_decay_with_warmup (LeRobot CosineDecayWithWarmupSchedulerConfig), with peak p and a = decay_lr / p:
///   total < decay_steps: warmup = int(warmup * total / decay), decay = total  (a short run sees the whole schedule)
///   k < warmup:          p * (m0 + (1 - m0) k / warmup),  m0 = 1 / (warmup + 1)
///   else:                p * (a + (1 - a) (1 + cos(pi min(k, decay) / decay)) / 2)
/// The cosine counts from step 0, so that the peak is never quite reached and there is a small jump after the warm-up.
///
/// openpi (optax warmup_cosine_decay_schedule): linear from p / (warmup + 1) to p, then a cosine that ends at
/// decay_steps.
class LrSchedule {
 public:
  /// @param total_steps  of the run
  /// @throws Error(kConfig) for an unknown type or steps that are negative
  LrSchedule(const ScheduleConfig& config, double peak_lr, int64_t total_steps);

  double lr(int64_t step) const;
  double peak_lr() const { return peak_lr_; }

 private:
  ScheduleConfig config_;
  double peak_lr_;
};

}  // namespace flexor::optim
