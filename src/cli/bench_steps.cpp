#include "cli/bench_steps.h"

#include "device/device.h"
#include "tensor/tensor.h"

namespace flexor::cli {
namespace {

/// Sums the seconds since the call before.
class Lap {
 public:
  void add_to(double& sum) {
    device::synchronize();
    sum += watch_.wall_s();
    watch_ = Stopwatch();
  }

 private:
  Stopwatch watch_;
};

}  // namespace

StepTimings measure_steps(train::TrainerParts& run, int64_t warmup, int64_t steps) {
  StepTimings timings;
  const auto accumulation = static_cast<double>(run.config.accumulation);
  for (int64_t i = 0; i < warmup + steps; ++i) {
    double data_s = 0, forward_s = 0, backward_s = 0, optimizer_s = 0, loss = 0;
    timings.samples = 0;
    const Stopwatch whole;
    Lap lap;
    for (int64_t micro = 0; micro < run.config.accumulation; ++micro) {
      run.task->fetch();
      lap.add_to(data_s);
      const train::TaskLoss output = run.task->forward();
      loss += output.loss.item<double>() / accumulation;
      timings.samples += output.samples;
      lap.add_to(forward_s);
      (run.config.accumulation == 1 ? output.loss : output.loss / accumulation).backward();
      lap.add_to(backward_s);
      run.optimizer->collect_grads();
      lap.add_to(optimizer_s);
    }
    run.optimizer->clip_grads();
    run.optimizer->step(run.learning_rates(run.progress.step));
    if (run.ema) {
      run.ema->update(run.optimizer->slots());
    }
    run.optimizer->zero_grad();
    run.task->step_done();
    ++run.progress.step;
    lap.add_to(optimizer_s);
    timings.losses.push_back(loss);
    if (i >= warmup) {
      timings.data_s.push_back(data_s);
      timings.forward_s.push_back(forward_s);
      timings.backward_s.push_back(backward_s);
      timings.optimizer_s.push_back(optimizer_s);
      whole.stop(timings.steps);
    }
  }
  return timings;
}

}  // namespace flexor::cli
