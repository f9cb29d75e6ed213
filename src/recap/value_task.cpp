#include "recap/value_task.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/text.h"
#include "recap/categorical.h"
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

RecapOrderConfig order_config(const ValueStep& step, const ValueData& data, int64_t rank, int64_t world) {
  RecapOrderConfig config{.balance = step.data.balance_weights,
                          .seed = step.data.seed,
                          .micro_batch_size = step.actor.micro_batch_size,
                          .accumulation = step.actor.global_batch_size / step.actor.micro_batch_size / world,
                          .rank = rank,
                          .world = world};
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

ValueMetrics evaluate_values(ValueEstimator& estimator, const ValueDataset& dataset, const std::string& default_prompt,
                             int64_t batch_size, int num_workers, int prefetch) {
  const at::NoGradGuard no_graph;
  const auto order = std::make_shared<const AscendingOrder>(dataset.num_samples, batch_size);
  data::Loader loader(std::make_shared<const data::Mixture>(dataset.dataset),
                      {.num_workers = num_workers,
                       .prefetch = prefetch,
                       .format = estimator.format(camera_names(dataset.slots)),
                       .sampler = {}},
                      order, 0);
  ValueMetrics metrics;
  for (int64_t i = 0; i < order->batches(); ++i) {
    check_interrupt();
    data::RawBatch raw = loader.next();
    fill_prompts(raw, default_prompt);
    std::vector<float> targets;
    for (const int64_t position : order->batch(i).positions) {
      targets.push_back(dataset.targets[static_cast<size_t>(position)]);
    }
    metrics.add(value_output(estimator, estimator.prepare(raw, dataset.slots), at::tensor(targets), nullptr));
  }
  return metrics;
}

ValueTask::ValueTask(const ValueStep& step, ValueRun run, ValueData data, ValueEstimator estimator, int64_t rank,
                     int64_t world, int64_t first_batch, const BestValue& best)
    : step_(step),
      run_(std::move(run)),
      data_(std::move(data)),
      estimator_(std::move(estimator)),
      order_(std::make_shared<const RecapOrder>(order_config(step, data_, rank, world))),
      loader_(std::make_unique<data::Loader>(
          data_.mixture, training_loader(step, estimator_, data_.train.front().slots), order_, first_batch)),
      best_(best, best.step) {}

void ValueTask::fetch() {
  batch_number_ = loader_->step();
  std::vector<float> targets;
  for (const int64_t position : order_->batch(batch_number_).positions) {
    targets.push_back(data_.target(position));
  }
  data::RawBatch raw = loader_->next();
  fill_prompts(raw, step_.data.default_prompt);
  batch_ = estimator_.prepare(raw, data_.train.front().slots);
  targets_ = at::tensor(targets);
}

train::TaskLoss ValueTask::forward() {
  at::Generator dropout = make_generator(
      stream_seed(static_cast<uint64_t>(step_.actor.seed), kDropoutStream, static_cast<uint64_t>(batch_number_)));
  const ValueOutput output = value_output(estimator_, batch_, targets_, &dropout);
  if (micro_metrics_.size() < kMostMicroMetrics) {
    const at::NoGradGuard no_graph;
    micro_metrics_.emplace_back().add(output);
  }
  return {.loss = output.losses.mean(), .samples = batch_.size()};
}

train::DataSize ValueTask::size() const {
  return {.num_frames = order_->num_frames(), .num_episodes = data_.mixture->num_episodes()};
}

/// The reference's step metrics: means over the micro batches. The loss stands in the row already.
Json ValueTask::take_metrics() {
  Json members = Json::object();
  for (const auto& [name, value] : mean_batch_metrics(micro_metrics_)) {
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
  const int workers = worker_count(step_.data.eval_num_workers, step_.data.num_workers);
  Json row = Json::object();
  std::map<std::string, std::pair<double, int>> sums;
  for (const ValueDataset& dataset : data_.eval) {
    const ValueMetrics metrics =
        evaluate_values(estimator_, dataset, step_.data.default_prompt, step_.actor.micro_batch_size, workers,
                        static_cast<int>(step_.data.prefetch_factor));
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
