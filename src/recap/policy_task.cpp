#include "recap/policy_task.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "device/device.h"
#include "recap/policy_loss.h"
#include "recap/policy_validation.h"
#include "recap/ranks.h"
#include "tensor/tensor.h"
#include "train/batch_source.h"
#include "train/noise.h"

namespace flexor::recap {
namespace {

uint64_t seed_of(const PolicyStep& step) {
  return static_cast<uint64_t>(step.actor.seed);
}

int64_t accumulation_of(const GuidedPolicyParts& parts) {
  return micro_batches(parts.step.actor, parts.group->world());
}

data::LoaderConfig training_loader(const GuidedPolicyParts& parts) {
  return train::loader_config(parts.inputs.plan.config, parts.inputs.policy);
}

}  // namespace

GuidedPolicyTask::GuidedPolicyTask(GuidedPolicyParts parts)
    : parts_(std::move(parts)),
      rule_{parts_.step.actor.model.openpi.unconditional_prob,
            parts_.step.actor.model.openpi.positive_only_conditional},
      loader_(parts_.inputs.data.mixture, training_loader(parts_), parts_.order,
              parts_.first_step * accumulation_of(parts_)),
      best_(parts_.best, parts_.first_step),
      step_(parts_.first_step) {}

void GuidedPolicyTask::fetch() {
  const RecapOrder::StepPlace at = parts_.order->step_place(loader_.step());
  const std::vector<int64_t> positions = parts_.order->batch(loader_.step()).positions;
  data::RawBatch raw = loader_.next();
  const std::vector<float> u = draw_routing(seed_of(parts_.step), at.step, at.first, raw.size());
  labels_.clear();
  routes_.clear();
  for (size_t i = 0; i < positions.size(); ++i) {
    const PolicyData::Sample sample = parts_.inputs.data.at(positions[i]);
    labels_.push_back(sample.is_positive ? 1 : 0);
    routes_.push_back(route(sample.is_positive, u[i], rule_));
    raw.tasks[i] = data::with_advantage(parts_.inputs.processor->config().prompt,
                                        sample.dataset->prompt_or_default(raw.tasks[i]), routes_.back());
  }
  batch_ = parts_.inputs.processor->preprocess(raw, device::current());
  const train::FlowDraw draw = train::draw_flow(parts_.inputs.policy, seed_of(parts_.step), train::Stream::kTraining,
                                                at.step, raw.size(), at.first);
  noise_ = device::place(draw.noise);
  time_ = device::place(draw.time);
}

train::TaskLoss GuidedPolicyTask::forward() {
  const PolicyLoss loss = policy_loss(*parts_.model, batch_, noise_, time_);
  metrics_.add(labels_, routes_, loss.per_sample);
  real_dims_ += loss.real_dims;
  ++micro_batches_;
  return {.loss = loss.loss, .samples = batch_.size() * parts_.group->world()};
}

train::DataSize GuidedPolicyTask::size() const {
  return {.num_frames = parts_.order->num_frames(), .num_episodes = parts_.inputs.data.mixture->num_episodes()};
}

void GuidedPolicyTask::step_done() {
  learning_rate_ += parts_.learning_rate(step_++);
  ++steps_;
}

Json GuidedPolicyTask::take_metrics() {
  std::vector<double> numbers = metrics_.packed();
  numbers.insert(numbers.end(), {real_dims_, static_cast<double>(micro_batches_)});
  sum_over_ranks(*parts_.group, numbers);
  const std::span<const double> sums = numbers;
  Json members = Json::object();
  members["learning_rate"] = learning_rate_ / static_cast<double>(std::max<int64_t>(1, steps_));
  members["loss_real_dims"] = sums[sums.size() - 2] / std::max(1.0, sums.back());
  for (const auto& [name, value] : RoutingMetrics::unpacked(sums.first(sums.size() - 2)).metrics()) {
    members[name] = value;
  }
  metrics_.clear();
  real_dims_ = learning_rate_ = 0;
  micro_batches_ = steps_ = 0;
  return members;
}

bool GuidedPolicyTask::validate(train::MetricsLog& log, int64_t step) {
  if (parts_.inputs.data.val.empty()) {
    return false;
  }
  const double start = wall_seconds();
  const PolicyValidation validation = validate_policy(*parts_.model, parts_.inputs, parts_.step, *parts_.group);
  Json row = validation.row;
  row["time/evaluate"] = wall_seconds() - start;
  log.row(step, row);
  last_validation_ = validation.metrics;
  const double loss = last_validation_.at("loss");
  log_info("validated", {{"step", step},
                         {"loss", short_number(loss)},
                         {"unconditional_loss", short_number(last_validation_.at("unconditional_loss"))},
                         {"samples", validation.samples},
                         {"seconds", short_number(wall_seconds() - start, 3)}});
  return step > 0 && best_.offer(step, loss);  // before the first step there is nothing to keep
}

std::string GuidedPolicyTask::save(const train::LoopState& state) {
  const std::string folder =
      save_policy(parts_.run, parts_.step, parts_.inputs, parts_.facts, *parts_.model, state, best_.best());
  best_.saved(parts_.run, state.progress.step, parts_.step.runner.save_interval);
  return folder;
}

}  // namespace flexor::recap
