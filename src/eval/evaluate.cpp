#include "eval/evaluate.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/str_cat.h"
#include "data/relative_actions.h"
#include "models/flow_time.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"

namespace flexor::eval {
namespace {

constexpr uint64_t kEvalStream = 0x65766131;  // keeps these draws apart from those of training

/// Noise and times of a batch, each row from a stream of its own frame.
struct Draws {
  Tensor noise;         ///< [B, T, max_action_dim], of the loss
  Tensor time;          ///< [B]
  Tensor sample_noise;  ///< [B, T, max_action_dim], where sampling starts
};

Draws draw(const data::RawBatch& raw, const schema::PolicyConfig& config, uint64_t seed, const at::Device& device) {
  std::vector<Tensor> noise, time, start;
  for (size_t b = 0; b < static_cast<size_t>(raw.size()); ++b) {
    at::Generator generator = make_generator(stream_seed(seed, kEvalStream, static_cast<uint64_t>(raw.episodes.at(b)),
                                                         static_cast<uint64_t>(raw.frames.at(b))));
    noise.push_back(models::sample_noise(1, config, generator));
    time.push_back(models::sample_time(1, config, generator));
    start.push_back(models::sample_noise(1, config, generator));
  }
  return {at::cat(noise).to(device), at::cat(time).to(device), at::cat(start).to(device)};
}

/// Sums of absolute errors over frames, steps beyond an episode's end left out.
class AbsoluteError {
 public:
  /// @param keep [B, T] bool
  void add(const Tensor& predicted, const Tensor& recorded, const Tensor& keep) {
    const Tensor weight = keep.to(at::kDouble);
    const Tensor error = (predicted.to(at::kDouble) - recorded.to(at::kDouble)).abs() * weight.unsqueeze(-1);
    const Tensor sum = error.sum(0);  // [T, A]
    sum_ = sum_.defined() ? sum_ + sum : sum;
    count_ = count_.defined() ? count_ + weight.sum(0) : weight.sum(0);
  }
  bool empty() const { return !sum_.defined() || count_.sum().item<double>() == 0; }
  Tensor by_step_and_dim() const { return sum_ / count_.unsqueeze(-1); }              // [T, A], NaN without a count
  Tensor by_step() const { return sum_.mean(1) / count_; }                            // [T]
  Tensor by_dim() const { return sum_.sum(0) / count_.sum(); }                        // [A]
  double mean() const { return (sum_.mean(1).sum() / count_.sum()).item<double>(); }  // over everything

 private:
  Tensor sum_, count_;
};

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

/// Of each batch the first frame, to show some of them.
EvalSample first_of(const data::RawBatch& raw, const Tensor& predicted) {
  const int64_t steps = raw.action.size(1);
  const int64_t pads = raw.action_is_pad.defined() ? raw.action_is_pad[0].sum().item<int64_t>() : 0;
  return {raw.episodes.at(0), raw.frames.at(0), to_rows(predicted[0]),
          to_rows(raw.action[0].narrow(0, 0, steps - pads))};
}

/// Keeps up to four, evenly spaced.
std::vector<EvalSample> thin_out(std::vector<EvalSample> all) {
  constexpr size_t kMost = 4;
  const size_t count = std::min(kMost, all.size());
  std::vector<EvalSample> samples;
  for (size_t i = 0; i < count; ++i) {
    samples.push_back(std::move(all[i * all.size() / count]));
  }
  return samples;
}

/// The three predictions that are scored, added up batch by batch.
class Scores {
 public:
  explicit Scores(const data::Processor& processor) : processor_(processor) {
    const auto& stats = processor.config().stats;
    const auto it = stats.find(schema::kActionKey);
    if (it != stats.end() && it->second.has("mean")) {
      mean_ = at::tensor(it->second.at("mean"), at::kDouble).narrow(0, 0, processor.action_dim());
    }
  }

  void add(const data::RawBatch& raw, const Tensor& predicted, const Tensor& losses) {
    const Tensor& recorded = raw.action;  // [B, T, A]
    const Tensor keep = raw.action_is_pad.defined() ? raw.action_is_pad.logical_not()
                                                    : at::ones({recorded.size(0), recorded.size(1)}, at::kBool);
    policy_.add(predicted, recorded, keep);
    holds_state_ = raw.state.defined() && raw.state.size(1) == recorded.size(2);
    const Tensor held = holds_state_ ? raw.state.unsqueeze(1) : recorded.narrow(1, 0, 1);
    hold_.add(held.expand_as(recorded), recorded, keep);
    if (mean_.defined()) {
      Tensor mean = mean_.expand_as(recorded);
      const data::RelativeActions& relative = processor_.config().relative;
      if (relative.enabled) {
        mean = data::to_absolute(mean, raw.state, data::relative_mask(relative, processor_.action_dim()));
      }
      mean_error_.add(mean, recorded, keep);
    }
    loss_ += losses.to(at::kDouble).sum().item<double>();
    frames_ += raw.size();
  }

  EvalResult result() const {
    if (policy_.empty()) {
      throw Error(ErrorKind::kData, "there is no frame to evaluate on", "eval",
                  "choose other episodes, or a larger split");
    }
    EvalResult result;
    result.loss = loss_ / static_cast<double>(frames_);
    result.mae = to_vector(policy_.by_dim());
    result.mae_by_step = to_vector(policy_.by_step());
    result.mae_by_step_and_dim = to_rows(policy_.by_step_and_dim());
    result.baseline_hold_mae = hold_.mean();
    result.baseline_hold = holds_state_ ? "state" : "first_action";
    result.baseline_mean_mae = mean_.defined() ? mean_error_.mean() : std::numeric_limits<double>::quiet_NaN();
    result.frames = frames_;
    return result;
  }

 private:
  const data::Processor& processor_;
  Tensor mean_;  // [A] of the statistics
  AbsoluteError policy_, hold_, mean_error_;
  bool holds_state_ = false;
  double loss_ = 0;
  int64_t frames_ = 0;
};

void check_batch(const data::RawBatch& raw, const schema::PolicyConfig& config) {
  if (!raw.action.defined()) {
    throw Error(ErrorKind::kData, "the dataset has no `action` to compare with", "eval",
                "rename_map maps its name to `action`");
  }
  if (raw.action.size(1) != config.chunk_size) {
    throw Error(
        ErrorKind::kData,
        str_cat("action windows have ", raw.action.size(1), " steps, the policy's chunk_size is ", config.chunk_size),
        "eval");
  }
}

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) {
    list.push_back(number_or_null(value));
  }
  return list;
}

Json numbers(const std::vector<std::vector<double>>& rows) {
  Json list = Json::array();
  for (const std::vector<double>& row : rows) {
    list.push_back(numbers(row));
  }
  return list;
}

}  // namespace

EvalResult evaluate(policy::Policy& policy, const BatchSource& next, const EvalOptions& options) {
  const at::NoGradGuard no_grad;
  models::SampleOptions sampling = policy.default_sampling();
  sampling.num_steps = options.num_steps.value_or(sampling.num_steps);
  Scores scores(policy.processor());
  std::vector<EvalSample> samples;
  while (const std::optional<data::RawBatch> raw = next()) {
    check_interrupt();
    check_batch(*raw, policy.config());
    const schema::Batch batch = policy.processor().preprocess(*raw, policy.device());
    const Draws draws = draw(*raw, policy.config(), options.seed, policy.device());
    const Tensor losses = policy.model().loss(batch, draws.noise, draws.time).per_sample;
    sampling.guided = policy.guided_prompt(*raw, options.guidance);
    const Tensor normalized = policy.model().sample(batch, draws.sample_noise, sampling);
    const Tensor predicted = policy.processor().unnormalize(normalized, raw->state).cpu();
    scores.add(*raw, predicted, losses);
    samples.push_back(first_of(*raw, predicted));
  }
  EvalResult result = scores.result();
  result.guidance = options.guidance;
  result.samples = thin_out(std::move(samples));
  for (size_t d = 0; d < result.mae.size(); ++d) {
    result.names.push_back(d < options.action_names.size() ? options.action_names[d] : str_cat("action_", d));
  }
  return result;
}

Json to_json(const EvalResult& result) {
  return Json::object({{"loss", number_or_null(result.loss)},
                       {"mae", numbers(result.mae)},
                       {"mae_by_step", numbers(result.mae_by_step)},
                       {"mae_by_step_and_dim", numbers(result.mae_by_step_and_dim)},
                       {"names", result.names},
                       {"baseline_hold_mae", number_or_null(result.baseline_hold_mae)},
                       {"baseline_hold", result.baseline_hold},
                       {"baseline_mean_mae", number_or_null(result.baseline_mean_mae)},
                       {"frames", result.frames},
                       {"guidance", policy::to_json(result.guidance)}});
}

Json samples_json(const EvalResult& result) {
  Json samples = Json::array();
  for (const EvalSample& sample : result.samples) {
    samples.push_back(Json::object({{"episode", sample.episode},
                                    {"frame", sample.frame},
                                    {"predicted", numbers(sample.predicted)},
                                    {"recorded", numbers(sample.recorded)}}));
  }
  return Json::object({{"names", result.names}, {"samples", samples}});
}

std::string write_json(const EvalResult& result, const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / "eval.json").string();
  write_file_atomic((std::filesystem::path(folder) / "samples.json").string(), samples_json(result).dump() + "\n");
  write_file_atomic(path, to_json(result).dump(2) + "\n");
  return path;
}

}  // namespace flexor::eval
