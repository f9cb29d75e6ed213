#include "eval/scores.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "data/relative_actions.h"
#include "tensor/tensor.h"

namespace flexor::eval {
namespace {

std::vector<double> to_vector(const Tensor& tensor) {
  const Tensor flat = tensor.to(at::kDouble).cpu().contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

/// Rows of [T, A].
std::vector<std::vector<double>> to_rows(const Tensor& table) {
  std::vector<std::vector<double>> rows;
  for (int64_t t = 0; t < table.size(0); ++t) {
    rows.push_back(to_vector(table[t]));
  }
  return rows;
}

/// [T, A] summed over frames. @param weight [B, T] float64, 0 or 1
Tensor error_sum(const Tensor& predicted, const Tensor& recorded, const Tensor& weight) {
  const Tensor error = (predicted.to(at::kDouble) - recorded.to(at::kDouble)).abs() * weight.unsqueeze(-1);
  return error.sum(0);
}

/// The mean action of the statistics at every step, undefined if they have none.
Tensor mean_action(const data::Processor& processor, const data::RawBatch& raw) {
  const auto& stats = processor.config().stats;
  const auto it = stats.find(schema::kActionKey);
  if (it == stats.end() || !it->second.has("mean")) {
    return {};
  }
  const Tensor mean =
      at::tensor(it->second.at("mean"), at::kDouble).narrow(0, 0, processor.action_dim()).expand_as(raw.action);
  const data::RelativeActions& relative = processor.config().relative;
  return relative.enabled ? data::to_absolute(mean, raw.state, data::relative_mask(relative, processor.action_dim()))
                          : mean;
}

EvalSample first_of(const data::RawBatch& raw, const Tensor& predicted) {
  const int64_t steps = raw.action.size(1);
  const int64_t pads = raw.action_is_pad.defined() ? raw.action_is_pad[0].sum().item<int64_t>() : 0;
  return {raw.episodes.at(0), raw.frames.at(0), to_rows(predicted[0]),
          to_rows(raw.action[0].narrow(0, 0, steps - pads))};
}

/// Takes numbers off the front of a message.
class NumberReader {
 public:
  explicit NumberReader(std::span<const double> numbers) : left_(numbers) {}
  double number() { return take(1)[0]; }
  int64_t integer() { return static_cast<int64_t>(number()); }
  std::span<const double> take(int64_t count) {
    const auto taken = left_.first(static_cast<size_t>(count));
    left_ = left_.subspan(static_cast<size_t>(count));
    return taken;
  }
  Tensor tensor(at::IntArrayRef shape) {
    Tensor result = at::empty(shape, at::kDouble);
    std::ranges::copy(take(result.numel()), result.mutable_data_ptr<double>());
    return result;
  }
  std::vector<std::vector<double>> rows(int64_t count, int64_t width) {
    std::vector<std::vector<double>> result;
    for (int64_t i = 0; i < count; ++i) {
      const auto row = take(width);
      result.emplace_back(row.begin(), row.end());
    }
    return result;
  }

 private:
  std::span<const double> left_;
};

void append(std::vector<double>& to, const std::vector<double>& numbers) {
  to.insert(to.end(), numbers.begin(), numbers.end());
}

Tensor added(const Tensor& sum, const Tensor& more) {
  return sum.defined() ? sum + more : more;
}

}  // namespace

BatchScores score_batch(const data::Processor& processor, const data::RawBatch& raw, const Tensor& predicted,
                        const Tensor& losses) {
  const Tensor& recorded = raw.action;  // [B, T, A]
  const Tensor keep = raw.action_is_pad.defined() ? raw.action_is_pad.logical_not()
                                                  : at::ones({recorded.size(0), recorded.size(1)}, at::kBool);
  const Tensor weight = keep.to(at::kDouble);
  BatchScores scores;
  scores.frames = raw.size();
  scores.loss = losses.to(at::kDouble).sum().item<double>();
  scores.holds_state = raw.state.defined() && raw.state.size(1) == recorded.size(2);
  const Tensor held = scores.holds_state ? raw.state.unsqueeze(1) : recorded.narrow(1, 0, 1);
  scores.count = weight.sum(0);
  scores.policy = error_sum(predicted, recorded, weight);
  scores.hold = error_sum(held.expand_as(recorded), recorded, weight);
  if (const Tensor mean = mean_action(processor, raw); mean.defined()) {
    scores.mean = error_sum(mean, recorded, weight);
  }
  scores.first = first_of(raw, predicted);
  return scores;
}

std::vector<double> packed(const BatchScores& scores) {
  const EvalSample& first = scores.first;
  std::vector<double> numbers = {static_cast<double>(scores.frames),
                                 scores.loss,
                                 scores.holds_state ? 1.0 : 0.0,
                                 scores.mean.defined() ? 1.0 : 0.0,
                                 static_cast<double>(scores.policy.size(0)),
                                 static_cast<double>(scores.policy.size(1)),
                                 static_cast<double>(first.episode),
                                 static_cast<double>(first.frame),
                                 static_cast<double>(first.recorded.size())};
  for (const Tensor& tensor : {scores.count, scores.policy, scores.hold, scores.mean}) {
    if (tensor.defined()) {
      append(numbers, to_vector(tensor));
    }
  }
  for (const auto* rows : {&first.predicted, &first.recorded}) {
    for (const std::vector<double>& row : *rows) {
      append(numbers, row);
    }
  }
  return numbers;
}

BatchScores unpacked_scores(std::span<const double> numbers) {
  NumberReader reader(numbers);
  BatchScores scores;
  scores.frames = reader.integer();
  scores.loss = reader.number();
  scores.holds_state = reader.number() != 0;
  const bool has_mean = reader.number() != 0;
  const int64_t T = reader.integer(), A = reader.integer();
  scores.first.episode = reader.integer();
  scores.first.frame = reader.integer();
  const int64_t recorded = reader.integer();
  scores.count = reader.tensor({T});
  scores.policy = reader.tensor({T, A});
  scores.hold = reader.tensor({T, A});
  if (has_mean) {
    scores.mean = reader.tensor({T, A});
  }
  scores.first.predicted = reader.rows(T, A);
  scores.first.recorded = reader.rows(recorded, A);
  return scores;
}

void ScoreSums::add(const BatchScores& batch) {
  sum_.frames += batch.frames;
  sum_.loss += batch.loss;
  sum_.holds_state = batch.holds_state;
  sum_.count = added(sum_.count, batch.count);
  sum_.policy = added(sum_.policy, batch.policy);
  sum_.hold = added(sum_.hold, batch.hold);
  if (batch.mean.defined()) {
    sum_.mean = added(sum_.mean, batch.mean);
  }
}

EvalResult ScoreSums::result() const {
  if (!sum_.count.defined() || sum_.count.sum().item<double>() == 0) {
    throw Error(ErrorKind::kData, "there is no frame to evaluate on", "eval",
                "choose other episodes, or a larger split");
  }
  const Tensor all = sum_.count.sum();
  const auto mean = [&all](const Tensor& errors) { return (errors.mean(1).sum() / all).item<double>(); };
  EvalResult result;
  result.loss = sum_.loss / static_cast<double>(sum_.frames);
  result.mae = to_vector(sum_.policy.sum(0) / all);
  result.mae_by_step = to_vector(sum_.policy.mean(1) / sum_.count);
  result.mae_by_step_and_dim = to_rows(sum_.policy / sum_.count.unsqueeze(-1));  // NaN without a count
  result.baseline_hold_mae = mean(sum_.hold);
  result.baseline_hold = sum_.holds_state ? "state" : "first_action";
  result.baseline_mean_mae = sum_.mean.defined() ? mean(sum_.mean) : std::numeric_limits<double>::quiet_NaN();
  result.frames = sum_.frames;
  return result;
}

}  // namespace flexor::eval
