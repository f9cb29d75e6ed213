#include "recap/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace flexor::recap {
namespace {

constexpr double kAdamDefaultRate = 1e-3;  // by which the reference divides min_lr of `cosine`

double floor_share(const OptimSection& config, double rate) {
  if (config.min_lr_rate) {
    return *config.min_lr_rate;
  }
  const double base = config.lr_scheduler == "cosine" && config.compat == "reference" ? kAdamDefaultRate : rate;
  return base > 0 ? config.min_lr / base : 0.0;
}

}  // namespace

RecapSchedule::RecapSchedule(const OptimSection& config, std::vector<double> rates)
    : config_(config),
      rates_(std::move(rates)),
      warmup_(config.lr_warmup_steps >= 0
                  ? static_cast<double>(config.lr_warmup_steps)
                  : std::floor(config.lr_warmup_steps_ratio * static_cast<double>(config.total_training_steps))),
      floor_(floor_share(config, rates_.front())) {}

/// What all schedules but PyTorch's multiply the peak by.
double RecapSchedule::factor(int64_t step) const {
  const auto s = static_cast<double>(step), total = static_cast<double>(config_.total_training_steps);
  const bool is_openpi = config_.lr_scheduler == "openpi_cosine" || config_.lr_scheduler == "ref_warmup_cosine";
  if (s < warmup_) {
    const double start = is_openpi ? 1.0 / (warmup_ + 1.0) : 0.0;
    return start + (1.0 - start) * s / std::max(1.0, warmup_);
  }
  if (config_.lr_scheduler == "constant") {
    return 1.0;
  }
  const double progress = (s - warmup_) / std::max(1.0, total - warmup_), clamped = std::min(1.0, progress);
  if (is_openpi) {
    return floor_ + (1.0 - floor_) * 0.5 * (1.0 + std::cos(std::numbers::pi * clamped));
  }
  const double p = config_.compat == "reference" ? progress : clamped;
  const double wave = 0.5 * (1.0 + std::cos(std::numbers::pi * 2.0 * config_.num_cycles * p));
  return std::max(0.0, wave * (1.0 - floor_) + floor_);
}

std::vector<double> RecapSchedule::rates(int64_t step) const {
  std::vector<double> result = rates_;
  const auto s = static_cast<double>(step), total = static_cast<double>(config_.total_training_steps);
  for (double& rate : result) {
    if (config_.lr_scheduler == "torch_constant") {
      constexpr int64_t kShortSteps = 5;
      rate *= step < kShortSteps ? 1.0 / 3.0 : 1.0;
    } else if (config_.lr_scheduler == "torch_cosine") {
      const double place = config_.compat == "reference" ? s : std::min(s, total);
      rate = config_.min_lr + (rate - config_.min_lr) * 0.5 * (1.0 + std::cos(std::numbers::pi * place / total));
    } else {
      rate *= factor(step);
    }
  }
  return result;
}

}  // namespace flexor::recap
