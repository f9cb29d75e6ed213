#include "train/policy_task.h"

#include <utility>

#include "device/device.h"
#include "tensor/tensor.h"
#include "train/checkpoint.h"

namespace flexor::train {

PolicyTask::PolicyTask(PolicyTaskParts parts) : parts_(std::move(parts)) {}

void PolicyTask::fetch() {
  micro_ = parts_.source->next();
  micro_.batch = schema::on_device(std::move(micro_.batch), device::current());
  micro_.noise = device::place(micro_.noise);
  micro_.time = device::place(micro_.time);
}

TaskLoss PolicyTask::forward() {
  return {.loss = parts_.model->loss(micro_.batch, micro_.noise, micro_.time).loss,
          .samples = micro_.samples,
          .share = micro_.share};
}

models::BatchShape PolicyTask::last_shape() const {
  return models::shape_of(micro_.batch);
}

double PolicyTask::waited_s() const {
  return parts_.source->waited_s();
}

DataSize PolicyTask::size() const {
  return parts_.source->size();
}

bool PolicyTask::validate(MetricsLog& log, int64_t step) {
  if (parts_.validator) {
    const Validator::Result result = parts_.validator->evaluate(*parts_.model);
    log.eval_row(step, result.loss, result.samples, result.seconds);
  }
  return false;
}

std::string PolicyTask::save(const LoopState& state) {
  return save_checkpoint({.config = parts_.config,
                          .policy = parts_.policy,
                          .model = *parts_.model,
                          .optimizer = state.optimizer,
                          .peak_lr = parts_.schedule.peak_lr(),
                          .next_lr = state.next_lr,
                          .ema = state.ema,
                          .processor = parts_.processor.get(),
                          .processor_source = parts_.processor_source,
                          .lerobot_config = parts_.lerobot_config,
                          .progress = state.progress,
                          .position = parts_.source->position(),
                          .world = state.world});
}

}  // namespace flexor::train
