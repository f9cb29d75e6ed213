#include "optim/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/str_cat.h"
#include "config/field_table.h"

namespace flexor::optim {

void fields(config::FieldTable& table, ScheduleConfig& config) {
  table("type", config.type, "shape of the schedule; openpi's cosine starts after the warm-up, LeRobot's at step 0")
      .choices({"cosine_decay_with_warmup", "openpi", "constant"});
  table("warmup_steps", config.warmup_steps, "steps until the peak; scaled down with the decay in a short run")
      .range(0, 1e12);
  table("decay_steps", config.decay_steps, "steps until decay_lr; a shorter run decays over its own length")
      .range(1, 1e12);
  table("decay_lr", config.decay_lr, "learning rate at the end of the decay").range(0, 1e3);
}

LrSchedule::LrSchedule(const ScheduleConfig& config, double peak_lr, int64_t total_steps)
    : config_(config), peak_lr_(peak_lr) {
  if (config.warmup_steps < 0 || config.decay_steps < 1) {
    throw Error(ErrorKind::kConfig,
                str_cat("expected warmup_steps >= 0 and decay_steps >= 1, found ", config.warmup_steps, " and ",
                        config.decay_steps),
                "scheduler");
  }
  const bool is_lerobot = config.type == "cosine_decay_with_warmup";
  if (!is_lerobot && config.type != "openpi" && config.type != "constant") {
    throw Error(ErrorKind::kConfig, str_cat("unknown schedule '", config.type, "'"), "scheduler.type",
                "one of cosine_decay_with_warmup, openpi, constant");
  }
  if (is_lerobot && total_steps < config.decay_steps) {
    const double scale = static_cast<double>(total_steps) / static_cast<double>(config.decay_steps);
    config_.warmup_steps = static_cast<int64_t>(static_cast<double>(config.warmup_steps) * scale);
    config_.decay_steps = std::max<int64_t>(1, total_steps);
  }
}

double LrSchedule::lr(int64_t step) const {
  const double k = static_cast<double>(step);
  const double warmup = static_cast<double>(config_.warmup_steps);
  const double decay = static_cast<double>(config_.decay_steps);
  if (step < config_.warmup_steps) {
    const double m0 = 1.0 / (warmup + 1.0);
    const double progress = 1.0 - k / warmup;
    return peak_lr_ * ((m0 - 1.0) * progress + 1.0);
  }
  if (config_.type == "constant") {
    return peak_lr_;
  }
  const double start = config_.type == "openpi" ? std::min(warmup, decay) : 0.0;
  const double fraction = decay > start ? std::min(k - start, decay - start) / (decay - start) : 1.0;
  const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * fraction));
  if (config_.type == "openpi") {
    return config_.decay_lr + (peak_lr_ - config_.decay_lr) * cosine;
  }
  if (peak_lr_ == 0) {
    return 0.0;  // a factor of the peak, as LeRobot's
  }
  const double floor = config_.decay_lr / peak_lr_;
  return peak_lr_ * ((1.0 - floor) * cosine + floor);
}

}  // namespace flexor::optim
