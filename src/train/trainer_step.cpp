#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/trace.h"
#include "device/out_of_memory.h"
#include "tensor/tensor.h"
#include "train/live_bytes.h"
#include "train/not_finite.h"
#include "train/trainer.h"

namespace flexor::train {

namespace {

/// Those of the micro batches of a step, with their weights where they are not all equal.
using Losses = std::vector<std::pair<Tensor, std::optional<double>>>;

double sum_of(const Losses& losses, int64_t accumulation) {
  double sum = 0;
  for (const auto& [loss, weight] : losses) {
    const auto value = loss.item<double>();
    sum += weight ? value * *weight : value / static_cast<double>(accumulation);
  }
  return sum;
}

}  // namespace

/// What runs out of memory says what holds it.
StepRecord Trainer::step_or_explain() {
  try {
    return train_step();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    if (!device::is_out_of_memory(error)) {
      throw;
    }
    throw device::out_of_memory(error, live_bytes(*parts_.optimizer, parts_.ema.get()),
                                str_cat("step ", parts_.progress.step + 1));
  }
}

StepRecord Trainer::train_step() {
  StepRecord record;
  const double start = wall_seconds(), waited = parts_.parallel->waited_s();
  parts_.parallel->begin_step(parts_.progress.step, parts_.task->branch());
  const double loss = parts_.parallel->mean(forward_backward(record));
  parts_.parallel->reduce_gradients(*parts_.optimizer);
  const double grad_norm = parts_.optimizer->clip_grads();
  const std::vector<double> rates = parts_.learning_rates(parts_.progress.step);
  if (accept_step(loss, grad_norm)) {
    const TraceScope scope("train.optimizer");
    parts_.optimizer->step(rates);
    if (parts_.ema) {
      parts_.ema->update(parts_.optimizer->slots());
    }
  }
  parts_.parallel->end_step(*parts_.optimizer);
  parts_.task->step_done();
  ++parts_.progress.step;
  record.loss = loss;
  record.grad_norm = grad_norm;
  record.lr = parts_.config.log_used_lr ? rates.front() : parts_.learning_rates(parts_.progress.step).front();
  record.update_s = wall_seconds() - start - record.data_s;
  record.comm_wait_s = parts_.parallel->waited_s() - waited;
  return record;
}

/// Gradients of the mean loss over the micro batches of a step; returns that mean.
double Trainer::forward_backward(StepRecord& record) {
  const int64_t accumulation = parts_.config.accumulation;
  Losses losses;  // read at the end: that waits for the device
  for (int64_t i = 0; i < accumulation; ++i) {
    const double start = wall_seconds(), waited = parts_.task->waited_s();
    parts_.task->fetch();
    parts_.parallel->begin_micro_batch(/*is_last=*/i + 1 == accumulation);
    record.data_s += wall_seconds() - start;
    record.waited_s += parts_.task->waited_s() - waited;
    Tensor scaled;
    {
      const TraceScope scope("train.forward");
      const TaskLoss output = parts_.task->forward();
      record.samples += output.samples;
      if (output.share) {  // the mean over the ranks makes up for the factor
        const double weight = *output.share * static_cast<double>(parts_.parallel->world());
        losses.emplace_back(output.loss.detach(), weight);
        scaled = output.loss * weight;
      } else {
        losses.emplace_back(output.loss.detach(), std::nullopt);
        scaled = accumulation == 1 ? output.loss : output.loss / static_cast<double>(accumulation);
      }
    }
    const TraceScope scope("train.backward");
    parts_.parallel->begin_backward(*parts_.optimizer);
    scaled.backward();
    parts_.parallel->end_micro_batch(*parts_.optimizer);
  }
  return sum_of(losses, accumulation);
}

/// Whether a step may be taken.
bool Trainer::accept_step(double loss, double grad_norm) {
  if (std::isfinite(loss) && std::isfinite(grad_norm)) {
    skipped_in_a_row_ = 0;
    return true;
  }
  const std::string what = str_cat("loss ", loss, " with gradient norm ", grad_norm, " is not finite");
  const int64_t step = parts_.progress.step + 1;
  if (++skipped_in_a_row_ > parts_.config.max_skipped_steps) {
    const bool is_unchanged = step - first_step_ == skipped_in_a_row_;  // all steps of this process were skipped
    if (const auto culprit = find_culprit(*parts_.optimizer, is_unchanged)) {
      throw Error(ErrorKind::kRuntime, str_cat(what, "; ", culprit->what), str_cat("step ", step), culprit->hint);
    }
    throw Error(
        ErrorKind::kRuntime, what, str_cat("step ", step),
        "continue from the last checkpoint with a lower optimizer.lr, or look for outliers in state and action");
  }
  log_warn("step skipped", {{"step", step}, {"loss", loss}, {"grad_norm", grad_norm}});
  return false;
}

}  // namespace flexor::train
