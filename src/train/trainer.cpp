#include "train/trainer.h"

#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "base/trace.h"
#include "tensor/tensor.h"

namespace flexor::train {

namespace {

constexpr size_t kLossWindow = 50;

}  // namespace

Trainer::Trainer(TrainerParts parts)
    : parts_(std::move(parts)),
      schedule_(parts_.config.scheduler, parts_.config.optimizer.lr, parts_.progress.schedule_steps),
      accumulation_(accumulation(parts_.config, parts_.parallel->world())),
      first_step_(parts_.progress.step),
      start_s_(wall_seconds()),
      earlier_s_(parts_.progress.elapsed_s),
      metrics_(parts_.config.output_dir, parts_.config.log.style, parts_.progress.step),
      throughput_(parts_.progress.step) {}

Closing Trainer::run() {
  const int64_t steps = parts_.config.steps;
  if (parts_.progress.step == 0) {
    validate_if_due();
    check_interrupt();  // nothing was trained that a checkpoint could keep
  }
  while (parts_.progress.step < steps) {
    note(train_step());
    log_if_due();
    if (!is_stopping()) {
      validate_if_due();
    }
    const bool stopping = is_stopping();
    save_if_due(stopping);
    if (stopping) {  // a signal from here on counts after the next step: what is left behind is always saved
      check_interrupt();
    }
  }
  save_if_due(/*stopping=*/true);  // also a run that had nothing left to do ends with a checkpoint
  Closing closing;
  throughput_.fill(closing);
  for (const double loss : parts_.progress.recent_losses) {
    closing.final_loss += loss / static_cast<double>(parts_.progress.recent_losses.size());
  }
  closing.duration_s = earlier_s_ + wall_seconds() - start_s_;
  return closing;
}

StepRecord Trainer::train_step() {
  StepRecord record;
  const double start = wall_seconds();
  const double loss = parts_.parallel->mean(forward_backward(record));
  parts_.parallel->reduce_gradients(*parts_.optimizer);
  const double grad_norm = parts_.optimizer->clip_grads();
  check_finite(loss, grad_norm);
  {
    const TraceScope scope("train.optimizer");
    parts_.optimizer->step(schedule_.lr(parts_.progress.step));
    parts_.optimizer->zero_grad();
    if (parts_.ema) {
      parts_.ema->update(parts_.optimizer->slots());
    }
  }
  ++parts_.progress.step;
  record.loss = loss;
  record.grad_norm = grad_norm;
  record.lr = schedule_.lr(parts_.progress.step);
  record.update_s = wall_seconds() - start - record.data_s;
  return record;
}

/// Gradients of the mean loss over the micro batches of a step; returns that mean.
double Trainer::forward_backward(StepRecord& record) {
  double loss = 0;
  for (int64_t i = 0; i < accumulation_; ++i) {
    const double start = wall_seconds(), waited = parts_.source->waited_s();
    const MicroBatch micro = parts_.source->next();
    record.data_s += wall_seconds() - start;
    record.waited_s += parts_.source->waited_s() - waited;
    record.samples += micro.size() * parts_.parallel->world();
    Tensor scaled;
    {
      const TraceScope scope("train.forward");
      const models::LossOutput output = parts_.model->loss(micro.batch, micro.noise, micro.time);
      loss += output.loss.item<double>() / static_cast<double>(accumulation_);
      scaled = accumulation_ == 1 ? output.loss : output.loss / static_cast<double>(accumulation_);
    }
    const TraceScope scope("train.backward");
    scaled.backward();
    parts_.optimizer->collect_grads();
  }
  return loss;
}

void Trainer::check_finite(double loss, double grad_norm) const {
  if (std::isfinite(loss) && std::isfinite(grad_norm)) {
    return;
  }
  throw Error(ErrorKind::kRuntime, str_cat("loss ", loss, " with gradient norm ", grad_norm, " is not finite"),
              str_cat("step ", parts_.progress.step + 1),
              "continue from the last checkpoint with a lower optimizer.lr, or look for outliers in state and action");
}

void Trainer::note(const StepRecord& record) {
  Progress& progress = parts_.progress;
  progress.samples += record.samples;
  progress.elapsed_s = earlier_s_ + wall_seconds() - start_s_;
  progress.recent_losses.push_back(record.loss);
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
    metrics_.train_row(window_.take(parts_.progress.step, parts_.progress.samples, parts_.source->size()));
  }
}

bool Trainer::is_stopping() {
  return parts_.parallel->any(interrupted() || terminated());
}

/// A signal ends it early, without a row; the loop then saves and stops.
void Trainer::validate_if_due() {
  if (!parts_.validator || !due(parts_.config.eval_freq)) {
    return;
  }
  try {
    const Validator::Result result = parts_.validator->evaluate(*parts_.model);
    metrics_.eval_row(parts_.progress.step, result.loss, result.samples, result.seconds);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInterrupted && error.kind() != ErrorKind::kTerminated) {
      throw;
    }
  }
}

void Trainer::save_if_due(bool stopping) {
  if ((stopping || due(parts_.config.save_freq) || parts_.progress.step == parts_.config.steps) &&
      last_saved_ != parts_.progress.step) {
    save();
  }
}

void Trainer::save() {
  const double start = wall_seconds();
  if (parts_.parallel->is_main()) {
    last_checkpoint_ = save_checkpoint({.config = parts_.config,
                                        .policy = parts_.policy,
                                        .model = *parts_.model,
                                        .optimizer = *parts_.optimizer,
                                        .schedule = schedule_,
                                        .ema = parts_.ema.get(),
                                        .processor = parts_.processor.get(),
                                        .processor_source = parts_.processor_source,
                                        .lerobot_config = parts_.lerobot_config,
                                        .progress = parts_.progress,
                                        .position = parts_.source->position(),
                                        .world = parts_.parallel->world()});
  }
  parts_.parallel->barrier();
  last_saved_ = parts_.progress.step;
  log_info("checkpoint saved", {{"step", parts_.progress.step},
                                {"folder", last_checkpoint_},
                                {"seconds", short_number(wall_seconds() - start, 3)}});
}

}  // namespace flexor::train
