#include "train/trainer.h"

#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/process_memory.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "device/device.h"
#include "tensor/tensor.h"

namespace flexor::train {

namespace {

constexpr size_t kLossWindow = 50;
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

/// While it lives, ranks may run the model without gradient.
class WeightsHeld {
 public:
  explicit WeightsHeld(ParallelContext& parallel) : parallel_(parallel) { parallel_.hold_weights(); }
  ~WeightsHeld() { parallel_.drop_weights(); }
  WeightsHeld(const WeightsHeld&) = delete;
  WeightsHeld& operator=(const WeightsHeld&) = delete;

 private:
  ParallelContext& parallel_;
};

}  // namespace

Trainer::Trainer(TrainerParts parts)
    : parts_(std::move(parts)),
      first_step_(parts_.progress.step),
      start_s_(wall_seconds()),
      earlier_s_(parts_.progress.elapsed_s),
      last_saved_(parts_.checkpoint.empty() ? -1 : parts_.progress.step),
      last_checkpoint_(parts_.checkpoint),
      metrics_(parts_.parallel->is_main() ? parts_.config.output_dir : std::string(), parts_.config.log_style,
               parts_.progress.step),
      throughput_(parts_.progress.step) {}

Closing Trainer::run() {
  const int64_t steps = parts_.config.steps;
  if (parts_.progress.step == 0 && parts_.config.validate_first) {
    validate_if_due();
    if (is_stopping()) {
      stop();  // nothing was trained that a checkpoint could keep
    }
  }
  if (parts_.progress.validation_due) {  // where the run was stopped
    const bool keep = validate_if_due();
    if (is_stopping()) {
      stop();
    }
    last_saved_ = -1;  // the checkpoint says that the validation is due
    save_if_due(keep);
  }
  while (parts_.progress.step < steps) {
    note(step_or_explain());
    compare_memory();
    log_if_due();
    const bool keep = validate_if_due();
    const bool stopping = is_stopping();
    save_if_due(stopping || keep);
    if (stopping) {  // a signal from here on counts after the next step: what is left behind is always saved
      stop();
    }
  }
  save_if_due(/*wanted=*/true);  // LeRobot's run with nothing left to do ends with a checkpoint too
  if (first_step_ >= steps) {
    log_info("nothing was left to train", {{"steps", steps}, {"done", first_step_}, {"checkpoint", last_checkpoint_}});
  }
  Closing closing;
  throughput_.fill(closing);
  for (const double loss : parts_.progress.recent_losses) {
    closing.final_loss += loss / static_cast<double>(parts_.progress.recent_losses.size());
  }
  closing.duration_s = earlier_s_ + wall_seconds() - start_s_;
  return closing;
}

void Trainer::note(const StepRecord& record) {
  Progress& progress = parts_.progress;
  progress.samples += record.samples;
  progress.elapsed_s = earlier_s_ + wall_seconds() - start_s_;
  if (std::isfinite(record.loss)) {  // that of a skipped step is not
    progress.recent_losses.push_back(record.loss);
  }
  if (progress.recent_losses.size() > kLossWindow) {
    progress.recent_losses.pop_front();
  }
  window_.add(record);
  throughput_.add(record.samples, record.update_s + record.data_s);
}

bool Trainer::due(int64_t frequency) const {
  const int64_t step = parts_.progress.step;
  return frequency > 0 && (step % frequency == 0 || step == parts_.config.steps);
}

void Trainer::log_if_due() {
  if (due(parts_.config.log_freq)) {
    LogRow row = window_.take(parts_.progress.step, parts_.progress.samples, parts_.task->size());
    row.world = parts_.parallel->world();
    if (const auto memory = device::memory(); memory && memory->peak_allocated >= 0) {
      row.peak_memory_gib = static_cast<double>(memory->peak_allocated) / kGiB;
    }
    metrics_.train_row(row, parts_.task->take_metrics());
  }
}

/// After the first step of this process and after the second, which is as all that follow: the moments are there.
void Trainer::compare_memory() {
  constexpr double kMiB = 0x1p20;
  const int64_t step = parts_.progress.step - first_step_;
  if (parts_.memory.resident_before <= 0 || step > 2) {
    return;
  }
  if (step == 1) {
    plan_ = parts_.memory.plan();
  }
  const auto on_device = device::memory();
  const bool has_moments = step == 2 || first_step_ > 0;
  const double of_host = on_device ? plan_->peak.of(models::MemoryUse::kProgram) : 0.0;
  const double predicted = (has_moments ? plan_->total() : plan_->first_step) - of_host;
  const double measured = parts_.parallel->max(static_cast<double>(
      on_device ? on_device->peak_allocated : peak_resident_bytes() - parts_.memory.resident_before));
  log_info(parts_.parallel->world() > 1 ? "memory of the fullest rank" : "memory",
           {{"step", parts_.progress.step},
            {"predicted_peak_mib", std::round(predicted / kMiB)},
            {"measured_peak_mib", std::round(measured / kMiB)}});
}

bool Trainer::is_stopping() {
  // A signal to one rank stops all, and all say the same.
  if (parts_.parallel->any(interrupted() || terminated())) {
    stop_kind_ = parts_.parallel->any(interrupted()) ? ErrorKind::kInterrupted : ErrorKind::kTerminated;
    return true;
  }
  return false;
}

void Trainer::stop() const {
  throw Error(stop_kind_, stop_kind_ == ErrorKind::kInterrupted ? "stopped by Ctrl-C" : "stopped by SIGTERM");
}

/// A signal ends it early, without a row; the loop then saves and stops. @return whether to save a checkpoint
bool Trainer::validate_if_due() {
  bool& is_due = parts_.progress.validation_due;
  is_due = due(parts_.config.eval_freq);
  if (!is_due || is_stopping()) {
    return false;
  }
  const WeightsHeld weights(*parts_.parallel);
  try {
    const bool keep = parts_.task->validate(metrics_, parts_.progress.step);
    is_due = false;
    return keep;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInterrupted && error.kind() != ErrorKind::kTerminated) {
      throw;
    }
  }
  return false;
}

void Trainer::save_if_due(bool wanted) {
  if ((wanted || due(parts_.config.save_freq) || parts_.progress.step == parts_.config.steps) &&
      last_saved_ != parts_.progress.step) {
    save();
  }
}

void Trainer::save() {
  const double start = wall_seconds();
  const auto write = [this](const optim::AdamW& optimizer, const optim::Ema* ema) {
    last_checkpoint_ = parts_.task->save({.optimizer = optimizer,
                                          .ema = ema,
                                          .progress = parts_.progress,
                                          .next_lr = parts_.learning_rates(parts_.progress.step).front(),
                                          .world = parts_.parallel->world()});
  };
  parts_.parallel->save(*parts_.optimizer, parts_.ema.get(), write);
  last_saved_ = parts_.progress.step;
  log_info("checkpoint saved", {{"step", parts_.progress.step},
                                {"folder", last_checkpoint_},
                                {"seconds", short_number(wall_seconds() - start, 3)}});
}

}  // namespace flexor::train
