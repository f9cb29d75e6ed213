#include "eval/evaluate.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "eval/scores.h"
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

EvalResult evaluate(policy::Policy& policy, const EvalBatches& batches, const EvalOptions& options,
                    const std::shared_ptr<dist::Group>& group) {
  const at::NoGradGuard no_grad;
  models::SampleOptions sampling = policy.default_sampling();
  sampling.num_steps = options.num_steps.value_or(sampling.num_steps);
  const auto judge = [&](int64_t number) {
    const data::RawBatch raw = batches.read(number);
    check_batch(raw, policy.config());
    const schema::Batch batch = policy.processor().preprocess(raw, policy.device());
    const Draws draws = draw(raw, policy.config(), options.seed, policy.device());
    const Tensor losses = policy.model().loss(batch, draws.noise, draws.time).per_sample;
    sampling.guided = policy.guided_prompt(raw, options.guidance);
    const Tensor normalized = policy.model().sample(batch, draws.sample_noise, sampling).cpu();
    const Tensor predicted = policy.processor().unnormalize(normalized, raw.state);
    return packed(score_batch(policy.processor(), raw, predicted, losses.cpu()));
  };
  ScoreSums sums;
  std::vector<EvalSample> samples;
  dist::share_work(*group, 0, batches.count, judge, [&](int64_t number, std::span<const double> numbers) {
    BatchScores scores = unpacked_scores(numbers);
    sums.add(scores);
    samples.push_back(std::move(scores.first));
    if (batches.done) {
      batches.done(number);
    }
  });
  EvalResult result = sums.result();
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
