#pragma once
#include <ATen/core/Tensor.h>
#include <string>
#include <utility>
#include <vector>

#include "optim/adamw.h"

namespace flexor::config {
class FieldTable;
}

namespace flexor::optim {

struct EmaConfig {
  bool enable = false;
  double decay = 0.99;  ///< openpi's; after each step average = decay * average + (1 - decay) * parameter
};
void fields(config::FieldTable& table, EmaConfig& config);

/// Exponential moving average, in float32, of the trained parameters (of their masters where there are any).
class Ema {
 public:
  Ema(const EmaConfig& config, const std::vector<Slot>& slots);
  /// With averages that are known already.
  Ema(const EmaConfig& config, std::vector<std::pair<std::string, at::Tensor>> averages)
      : decay_(config.decay), averages_(std::move(averages)) {}

  void update(const std::vector<Slot>& slots);

  /// Name and float32 average of every trained parameter, in the order of the parameters.
  std::vector<std::pair<std::string, at::Tensor>>& averages() { return averages_; }
  const std::vector<std::pair<std::string, at::Tensor>>& averages() const { return averages_; }

 private:
  double decay_;
  std::vector<std::pair<std::string, at::Tensor>> averages_;
};

}  // namespace flexor::optim
