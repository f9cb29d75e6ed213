#include "train/closing.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/file.h"
#include "base/str_cat.h"
#include "device/device.h"

namespace flexor::train {

namespace {

std::string number(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

}  // namespace

void Throughput::fill(Closing& closing) const {
  constexpr size_t kWarmup = 20;
  const size_t skipped = std::min(kWarmup, (steps_.size() + 9) / 10);
  const size_t first = steps_.size() > skipped ? skipped : 0;
  double seconds = 0;
  int64_t samples = 0;
  for (size_t i = first; i < steps_.size(); ++i) {
    samples += steps_[i].first;
    seconds += steps_[i].second;
  }
  closing.samples_per_s = seconds > 0 ? static_cast<double>(samples) / seconds : 0.0;
  closing.first_step = first_step_ + static_cast<int64_t>(first) + 1;
  closing.last_step = first_step_ + static_cast<int64_t>(steps_.size());
}

void print_closing(std::ostream& out, const Closing& closing) {
  if (closing.has_steps()) {
    out << "throughput measured over steps " << closing.first_step << " to " << closing.last_step << '\n';
  }
  out << "Final Performance images/sec : " << number("%.2f", closing.samples_per_s) << '\n'
      << "Final Train Loss : " << number("%.6f", closing.final_loss) << '\n'
      << "E2E Training Duration sec : " << number("%.1f", closing.duration_s) << std::endl;
}

void write_closing(const Closing& closing, const TrainConfig& config, int64_t world) {
  const std::string network = config.policy.config.is_pi05() ? "Pi05" : "Pi0";
  const std::string device = c10::DeviceTypeName(device::current().type());
  for (const char* kind : {"perf", "acc"}) {
    const std::string text =
        str_cat("Network = ", network, "\nRankSize = ", world, "\nBatchSize = ", config.batch_size,
                "\nDeviceType = ", device, "\nCaseName = ", network, "_bs", config.batch_size, "_", world, "p_", kind,
                "\nActualFPS = ", number("%.2f", closing.samples_per_s), "\nTrainingTime = ",
                closing.samples_per_s > 0
                    ? number("%.3f", static_cast<double>(config.batch_size * world) / closing.samples_per_s)
                    : "0",
                "\nActualLoss = ", number("%.6f", closing.final_loss),
                "\nE2ETrainingTime = ", number("%.1f", closing.duration_s),
                "\nFinal Performance images/sec = ", number("%.2f", closing.samples_per_s),
                "\nFinal Train Loss = ", number("%.6f", closing.final_loss),
                "\nE2E Training Duration sec = ", number("%.1f", closing.duration_s), "\n");
    write_file_atomic(
        str_cat(config.output_dir, "/", network, "_bs", config.batch_size, "_", world, "p_", kind, ".log"), text);
  }
}

}  // namespace flexor::train
