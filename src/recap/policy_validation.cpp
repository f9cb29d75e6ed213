#include "recap/policy_validation.h"

#include <memory>
#include <utility>
#include <vector>

#include "data/loader.h"
#include "device/device.h"
#include "dist/shared_work.h"
#include "recap/batch_order.h"
#include "recap/policy_loss.h"
#include "recap/value_task.h"
#include "tensor/tensor.h"
#include "train/batch_source.h"
#include "train/noise.h"

namespace flexor::recap {
namespace {

using data::AdvantageLabel;

RoutingRule rule_of(const PolicyStep& step) {
  return {step.actor.model.openpi.unconditional_prob, step.actor.model.openpi.positive_only_conditional};
}

data::LoaderConfig loader_of(const PolicyInputs& inputs, const PolicyStep& step) {
  data::LoaderConfig config = train::loader_config(inputs.plan.config, inputs.policy);
  config.num_workers = worker_count(step.data.eval_num_workers, step.data.num_workers);
  config.format.image_transforms = data::ImageTransforms::kNone;
  return config;
}

/// Noise and times, one generator a frame.
train::FlowDraw draw_frames(const PolicyInputs& inputs, const PolicyStep& step, const data::RawBatch& raw) {
  constexpr int64_t kFrames = int64_t{1} << 32;  // more than an episode has
  std::vector<Tensor> noise, time;
  for (size_t i = 0; i < raw.frames.size(); ++i) {
    const train::FlowDraw draw =
        train::draw_flow(inputs.policy, static_cast<uint64_t>(step.actor.seed), train::Stream::kValidation,
                         raw.episodes[i] * kFrames + raw.frames[i], 1);
    noise.push_back(draw.noise);
    time.push_back(draw.time);
  }
  return {device::place(at::cat(noise)), device::place(at::cat(time))};
}

data::RawBatch with_labels(data::PromptStyle style, const data::RawBatch& raw, const PolicyDataset& dataset,
                           const std::vector<AdvantageLabel>& labels) {
  data::RawBatch result = raw;
  for (size_t i = 0; i < labels.size(); ++i) {
    result.tasks[i] = data::with_advantage(style, dataset.prompt_or_default(raw.tasks[i]), labels[i]);
  }
  return result;
}

ValidationSums judge_batch(models::PolicyModel& model, const PolicyInputs& inputs, const PolicyStep& step,
                           const PolicyDataset& dataset, const data::RawBatch& raw,
                           const std::vector<int64_t>& positions) {
  std::vector<AdvantageLabel> labels;
  for (const int64_t position : positions) {
    const bool is_positive = dataset.labels[static_cast<size_t>(position)] != 0;
    labels.push_back(is_positive ? AdvantageLabel::kPositive : AdvantageLabel::kNegative);
  }
  const train::FlowDraw draw = draw_frames(inputs, step, raw);
  const auto losses = [&](const std::vector<AdvantageLabel>& asked) {
    const data::Processor& processor = *inputs.processor;
    const data::RawBatch labelled = with_labels(processor.config().prompt, raw, dataset, asked);
    return policy_loss(model, processor.preprocess(labelled, device::current()), draw.noise, draw.time);
  };
  const PolicyLoss labelled = losses(labels);
  const PolicyLoss plain = losses(std::vector<AdvantageLabel>(labels.size(), AdvantageLabel::kNone));
  ValidationSums sums;
  for (size_t i = 0; i < labels.size(); ++i) {
    sums.add(labels[i] == AdvantageLabel::kPositive, labelled.per_sample[i], plain.per_sample[i]);
  }
  sums.add_real_dims(plain.real_dims * static_cast<double>(labels.size()));
  return sums;
}

ValidationSums judge_dataset(models::PolicyModel& model, const PolicyInputs& inputs, const PolicyStep& step,
                             const PolicyDataset& dataset, dist::Group& group) {
  const auto order = std::make_shared<const AscendingOrder>(dataset.num_samples, step.actor.micro_batch_size);
  data::Loader loader(std::make_shared<const data::Mixture>(dataset.dataset), loader_of(inputs, step),
                      std::make_shared<const EveryNthBatch>(order, group.rank(), group.world()), 0);
  ValidationSums sums;
  dist::share_work(
      group, 0, order->batches(),
      [&](int64_t i) {
        return judge_batch(model, inputs, step, dataset, loader.next(), order->batch(i).positions).packed();
      },
      [&sums](int64_t, std::span<const double> numbers) { sums.merge(ValidationSums::unpacked(numbers)); });
  return sums;
}

}  // namespace

void ValidationSums::add(bool is_positive, double labelled, double plain) {
  Cell& cell = cells_[is_positive ? 1 : 0];
  ++cell.count;
  cell.labelled += labelled;
  cell.plain += plain;
}

void ValidationSums::merge(const ValidationSums& other) {
  for (const size_t i : {size_t{0}, size_t{1}}) {
    cells_[i].count += other.cells_[i].count;
    cells_[i].labelled += other.cells_[i].labelled;
    cells_[i].plain += other.cells_[i].plain;
  }
  real_dims_ += other.real_dims_;
}

std::vector<double> ValidationSums::packed() const {
  std::vector<double> numbers = {real_dims_};
  for (const Cell& cell : cells_) {
    numbers.insert(numbers.end(), {static_cast<double>(cell.count), cell.labelled, cell.plain});
  }
  return numbers;
}

ValidationSums ValidationSums::unpacked(std::span<const double> numbers) {
  constexpr size_t kOfCell = 3;
  ValidationSums sums;
  sums.real_dims_ = numbers[0];
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const auto of_cell = numbers.subspan(1 + i * kOfCell, kOfCell);
    sums.cells_[i] = {.count = static_cast<int64_t>(of_cell[0]), .labelled = of_cell[1], .plain = of_cell[2]};
  }
  return sums;
}

std::map<std::string, double> ValidationSums::metrics(const RoutingRule& rule) const {
  std::map<std::string, double> result;
  const auto mean = [&result](const char* name, double sum, int64_t count) {
    if (count > 0) {
      result[name] = sum / static_cast<double>(count);
    }
  };
  const Cell &negative = cells_[0], &positive = cells_[1];
  mean("loss", positive.labelled + (rule.positive_only ? negative.plain : negative.labelled), samples());
  mean("unconditional_loss", positive.plain + negative.plain, samples());
  mean("unconditional_loss_real_dims", real_dims_, samples());
  mean("positive_label_ratio", static_cast<double>(positive.count), samples());
  mean("positive_loss", positive.labelled, positive.count);
  mean("negative_loss", negative.labelled, negative.count);
  mean("positive_unconditional_loss", positive.plain, positive.count);
  mean("negative_unconditional_loss", negative.plain, negative.count);
  return result;
}

PolicyValidation validate_policy(models::PolicyModel& model, const PolicyInputs& inputs, const PolicyStep& step,
                                 dist::Group& group) {
  const at::NoGradGuard no_graph;
  const RoutingRule rule = rule_of(step);
  PolicyValidation validation{.row = Json::object(), .metrics = {}};
  ValidationSums all;
  for (const PolicyDataset& dataset : inputs.data.val) {
    const ValidationSums sums = judge_dataset(model, inputs, step, dataset, group);
    for (const auto& [name, value] : sums.metrics(rule)) {
      validation.row["eval/" + dataset.name + "/" + name] = value;
    }
    all.merge(sums);
  }
  validation.metrics = all.metrics(rule);
  validation.samples = all.samples();
  for (const auto& [name, value] : validation.metrics) {
    validation.row["eval/" + name] = value;
  }
  return validation;
}

}  // namespace flexor::recap
