#include "recap/value_task.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "device/device.h"
#include "dist/shared_work.h"
#include "recap/categorical.h"
#include "recap/ranks.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

constexpr uint64_t kDropoutStream = 2;
constexpr size_t kMostMicroMetrics = 4096;  // kept when nobody logs

std::vector<std::string> camera_names(const CameraSlots& slots) {
  std::vector<std::string> names;
  for (const auto& [slot, camera] : slots) {
    names.push_back(camera);
  }
  return names;
}

RecapOrderConfig order_config(const ValueStep& step, const ValueData& data, const dist::Group& group) {
  RecapOrderConfig config{.balance = step.data.balance_weights,
                          .seed = step.data.seed,
                          .micro_batch_size = step.actor.micro_batch_size,
                          .accumulation = micro_batches(step.actor, group.world()),
                          .rank = group.rank(),
                          .world = group.world()};
  for (size_t i = 0; i < data.train.size(); ++i) {
    config.add_dataset(data.train[i].num_samples, data.mixture->first_position(static_cast<int64_t>(i)),
                       data.train[i].weight);
  }
  return config;
}

/// With augmentation pictures are float32, so that it is not rounded.
data::LoaderConfig training_loader(const ValueStep& step, const ValueEstimator& estimator, const CameraSlots& slots) {
  data::LoaderConfig config{.num_workers = worker_count(step.data.train_num_workers, step.data.num_workers),
                            .prefetch = static_cast<int>(step.data.prefetch_factor),
                            .format = estimator.format(camera_names(slots)),
                            .sampler = {}};
  config.format.seed = static_cast<uint64_t>(step.actor.seed);
  if (step.data.do_augment) {
    config.format.float_pictures = true;
    config.format.image_transforms = data::ImageTransforms::kRecap;
  }
  return config;
}

void fill_prompts(data::RawBatch& raw, const std::string& default_prompt) {
  for (std::string& task : raw.tasks) {
    if (task.empty()) {
      task = default_prompt;
    }
  }
}

}  // namespace

int worker_count(const std::optional<int64_t>& wanted, const std::optional<int64_t>& general) {
  const auto cores = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  return static_cast<int>(wanted.value_or(general.value_or(cores)));
}

ValueOutput value_output(ValueEstimator& estimator, const models::ValueBatch& batch, const Tensor& targets,
                         at::Generator* dropout) {
  const models::ValueConfig& config = estimator.config();
  const Tensor logits = estimator.model().logits(batch, dropout);
  const Tensor losses = categorical_losses(logits, targets, {config.num_bins, config.v_min, config.v_max});
  return {.logits = logits,
          .targets = targets,
          .values = estimator.model().values(logits.detach()),
          .losses = losses,
          .v_min = config.v_min,
          .v_max = config.v_max};
}

ValueMetrics evaluate_values(ValueEstimator& estimator, const ValueDataset& dataset, const ValidationReading& reading,
                             dist::Group& group) {
  const at::NoGradGuard no_graph;
  const auto order = std::make_shared<const AscendingOrder>(dataset.num_samples, reading.batch_size);
  data::Loader loader(std::make_shared<const data::Mixture>(dataset.dataset),
                      {.num_workers = reading.num_workers,
                       .prefetch = reading.prefetch,
                       .format = estimator.format(camera_names(dataset.slots)),
                       .sampler = {}},
                      std::make_shared<const EveryNthBatch>(order, group.rank(), group.world()), 0);
  const auto judge = [&](int64_t i) {
    data::RawBatch raw = loader.next();
    fill_prompts(raw, reading.default_prompt);
    std::vector<float> targets;
    for (const int64_t position : order->batch(i).positions) {
      targets.push_back(dataset.targets[static_cast<size_t>(position)]);
    }
    ValueMetrics batch;
    batch.add(
        value_output(estimator, estimator.prepare(raw, dataset.slots), device::place(at::tensor(targets)), nullptr));
    return batch.packed();
  };
  ValueMetrics metrics;
  dist::share_work(group, 0, order->batches(), judge,
                   [&](int64_t, std::span<const double> numbers) { metrics.add(ValueMetrics::unpacked(numbers)); });
  return metrics;
}

ValueTask::ValueTask(const ValueStep& step, ValueRun run, ValueData data, ValueEstimator estimator,
                     std::shared_ptr<dist::Group> group, int64_t first_step, const BestValue& best)
    : step_(step),
      run_(std::move(run)),
      data_(std::move(data)),
      estimator_(std::move(estimator)),
      group_(std::move(group)),
      order_(std::make_shared<const RecapOrder>(order_config(step, data_, *group_))),
      loader_(std::make_unique<data::Loader>(data_.mixture,
                                             training_loader(step, estimator_, data_.train.front().slots), order_,
                                             first_step * micro_batches(step.actor, group_->world()))),
      best_(best, best.step) {}

void ValueTask::fetch() {
  const int64_t own = loader_->step();
  batch_number_ = order_->number(own);
  std::vector<float> targets;
  for (const int64_t position : order_->batch(own).positions) {
    targets.push_back(data_.target(position));
  }
  data::RawBatch raw = loader_->next();
  fill_prompts(raw, step_.data.default_prompt);
  batch_ = estimator_.prepare(raw, data_.train.front().slots);
  targets_ = device::place(at::tensor(targets));
}

train::TaskLoss ValueTask::forward() {
  at::Generator dropout = make_generator(
      stream_seed(static_cast<uint64_t>(step_.actor.seed), kDropoutStream, static_cast<uint64_t>(batch_number_)));
  const ValueOutput output = value_output(estimator_, batch_, targets_, &dropout);
  if (micro_metrics_.size() < kMostMicroMetrics) {
    const at::NoGradGuard no_graph;
    micro_metrics_.emplace_back().add(output);
  }
  return {.loss = output.losses.mean(), .samples = batch_.size() * group_->world()};
}

train::DataSize ValueTask::size() const {
  return {.num_frames = order_->num_frames(), .num_episodes = data_.mixture->num_episodes()};
}

/// The reference's step metrics: means over the micro batches of all ranks. The loss stands in the row already.
Json ValueTask::take_metrics() {
  Json members = Json::object();
  for (const auto& [name, value] : mean_over_ranks(*group_, mean_batch_metrics(micro_metrics_))) {
    if (name != "loss" && std::isfinite(value)) {
      members[name] = value;
    }
  }
  micro_metrics_.clear();
  return members;
}

bool ValueTask::validate(train::MetricsLog& log, int64_t step) {
  if (data_.eval.empty()) {
    return false;
  }
  const double start = wall_seconds();
  const ValidationReading reading{.batch_size = step_.actor.micro_batch_size,
                                  .num_workers = worker_count(step_.data.eval_num_workers, step_.data.num_workers),
                                  .prefetch = static_cast<int>(step_.data.prefetch_factor),
                                  .default_prompt = step_.data.default_prompt};
  Json row = Json::object();
  std::map<std::string, std::pair<double, int>> sums;
  for (const ValueDataset& dataset : data_.eval) {
    const ValueMetrics metrics = evaluate_values(estimator_, dataset, reading, *group_);
    for (const auto& [name, value] : metrics.metrics()) {
      row["eval/" + dataset.name + "/" + name] = value;
      sums[name].first += value;
      ++sums[name].second;
    }
  }
  last_validation_.clear();
  for (const auto& [name, sum] : sums) {
    last_validation_[name] = sum.first / sum.second;
    row["eval/" + name] = last_validation_[name];
  }
  row["time/evaluate"] = wall_seconds() - start;
  log.row(step, row);
  const double loss = last_validation_.at("loss");
  log_info("validated", {{"step", step},
                         {"loss", short_number(loss)},
                         {"value_mae", short_number(last_validation_["value_mae"])},
                         {"value_spearman", short_number(last_validation_["value_spearman"])},
                         {"seconds", short_number(wall_seconds() - start, 3)}});
  return best_.offer(step, loss);
}

std::string ValueTask::save(const train::LoopState& state) {
  const std::string folder = run_.save(estimator_.model(), estimator_.tokenizer(), state, best_.best());
  best_.saved(run_, state.progress.step, step_.runner.save_interval);
  return folder;
}

}  // namespace flexor::recap
