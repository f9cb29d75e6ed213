#include "train/validation.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "device/device.h"
#include "tensor/tensor.h"
#include "train/noise.h"

namespace flexor::train {

namespace {

data::BatchFormat format_of(const TrainConfig& config, const schema::PolicyConfig& policy) {
  return {.float_pictures = config.dataset.resize == "float",
          .height = policy.image_resolution[0],
          .width = policy.image_resolution[1],
          .action_horizon = policy.chunk_size,
          .frame_cache = config.dataset.cache};
}

}  // namespace

std::vector<int64_t> evenly_spaced(int64_t total, int64_t count) {
  const int64_t n = count == 0 ? total : std::min(count, total);
  std::vector<int64_t> positions(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    positions[static_cast<size_t>(i)] = i * total / n;
  }
  return positions;
}

Validator::Validator(const TrainConfig& config, const schema::PolicyConfig& policy,
                     std::shared_ptr<const data::Mixture> held_out, std::shared_ptr<const data::Processor> processor,
                     std::shared_ptr<dist::Group> group)
    : processor_(std::move(processor)),
      group_(std::move(group)),
      reader_(held_out, format_of(config, policy)),
      positions_(evenly_spaced(held_out->num_frames(), config.max_eval_samples)),
      batch_size_(config.batch_size),
      seed_(static_cast<uint64_t>(config.seed)) {}

Validator::Result Validator::evaluate(models::PolicyModel& model) {
  const at::NoGradGuard no_graph;
  const double start = wall_seconds();
  Result result;
  // One exchange at the end: sum, samples, and whether somebody was stopped.
  const Tensor totals = at::zeros({3}, at::kDouble);
  double* total = totals.mutable_data_ptr<double>();
  const auto size = static_cast<size_t>(batch_size_), world = static_cast<size_t>(group_->world());
  for (size_t first = static_cast<size_t>(group_->rank()) * size; first < positions_.size(); first += world * size) {
    if (interrupted() || terminated()) {
      total[2] = 1;
      break;
    }
    const size_t count = std::min(positions_.size() - first, size);
    const schema::Batch batch =
        processor_->preprocess(reader_.read(std::span(positions_).subspan(first, count)), device::current());
    const FlowDraw draw =
        draw_flow(model.config(), seed_, Stream::kValidation, /*batch=*/0, batch.size(), static_cast<int64_t>(first));
    const Tensor losses = model.loss(batch, device::place(draw.noise), device::place(draw.time)).per_sample;
    total[0] += losses.cpu().to(at::kDouble).sum().item<double>();
    total[1] += static_cast<double>(batch.size());
  }
  group_->all_reduce(totals);
  if (total[2] > 0) {
    throw Error(ErrorKind::kInterrupted, "validation was stopped by a signal");
  }
  result.samples = static_cast<int64_t>(total[1]);
  result.loss = total[0] / static_cast<double>(std::max<int64_t>(1, result.samples));
  result.seconds = wall_seconds() - start;
  return result;
}

}  // namespace flexor::train
