#include "recap/steam_task.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "device/device.h"
#include "dist/shared_work.h"
#include "recap/ranks.h"
#include "recap/steam.h"
#include "recap/value_prompt.h"
#include "recap/value_task.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

constexpr uint64_t kSteamDropoutStream = 5;
constexpr int64_t kEvalPairs = 10000;

RecapOrderConfig items_config(const ValueStep& step, const SteamData& data, const dist::Group& group) {
  RecapOrderConfig config{.balance = step.data.balance_weights,
                          .seed = step.data.seed,
                          .micro_batch_size = step.actor.micro_batch_size,
                          .accumulation = micro_batches(step.actor, group.world()),
                          .rank = group.rank(),
                          .world = group.world()};
  int64_t start = 0;
  for (const SteamDataset& dataset : data.train) {
    config.add_dataset(dataset.num_items(), start, dataset.weight);
    start += dataset.num_items();
  }
  return config;
}

data::LoaderConfig training_loader(const ValueStep& step, const models::SteamConfig& config, const CameraSlots& slots) {
  data::LoaderConfig loader{.num_workers = worker_count(step.data.train_num_workers, step.data.num_workers),
                            .prefetch = static_cast<int>(step.data.prefetch_factor),
                            .format = steam_format(config, slots),
                            .sampler = {}};
  loader.format.seed = static_cast<uint64_t>(step.actor.seed);
  if (step.data.do_augment) {
    loader.format.float_pictures = true;
    loader.format.image_transforms = data::ImageTransforms::kRecap;
  }
  return loader;
}

}  // namespace

data::BatchFormat steam_format(const models::SteamConfig& config, const CameraSlots& slots) {
  data::BatchFormat format;
  format.height = format.width = config.architecture.image_size;
  format.action_horizon = 0;
  for (const auto& [slot, camera] : slots) {
    format.cameras.push_back(camera);
  }
  return format;
}

models::SteamBatch steam_batch(const data::RawBatch& raw, const CameraSlots& slots, const data::Tokenizer& tokenizer,
                               int64_t max_token_len, const std::string& default_prompt) {
  models::SteamBatch batch;
  for (const auto& [slot, name] : slots) {
    const auto found = std::ranges::find(raw.cameras, name, &schema::CameraBatch::name);
    if (found != raw.cameras.end()) {
      batch.cameras.push_back({.name = slot, .pixels = device::place(found->pixels), .mask = {}});
    }
  }
  std::vector<std::string> prompts;
  for (size_t i = 0; i < raw.tasks.size() / 2; ++i) {
    prompts.push_back(steam_prompt(raw.tasks[i].empty() ? default_prompt : raw.tasks[i]));
  }
  data::TokenBatch tokens = encode_prompts(tokenizer, prompts, max_token_len);
  batch.tokens = device::place(tokens.tokens);
  batch.token_mask = device::place(tokens.mask);
  return batch;
}

SteamTask::SteamTask(const ValueStep& step, ValueRun run, std::shared_ptr<const SteamData> data,
                     std::shared_ptr<models::SteamEnsemble> ensemble, data::Tokenizer tokenizer,
                     std::shared_ptr<dist::Group> group, int64_t first_step, const BestValue& best)
    : step_(step),
      run_(std::move(run)),
      data_(std::move(data)),
      ensemble_(std::move(ensemble)),
      tokenizer_(std::move(tokenizer)),
      group_(std::move(group)),
      items_(std::make_shared<const RecapOrder>(items_config(step, *data_, *group_))),
      order_(
          std::make_shared<const SteamOrder>(data_, step.actor.steam, static_cast<uint64_t>(step.actor.seed), items_)),
      loader_(std::make_unique<data::Loader>(data_->mixture,
                                             training_loader(step, ensemble_->config(), data_->train.front().slots),
                                             order_, first_step * micro_batches(step.actor, group_->world()))),
      best_(best, best.step),
      loop_step_(first_step) {}

void SteamTask::fetch() {
  batch_number_ = items_->number(loader_->step());
  labels_ = device::place(at::tensor(order_->labels(loader_->step())));
  batch_ = steam_batch(loader_->next(), data_->train.front().slots, tokenizer_, ensemble_->config().max_token_len,
                       step_.data.default_prompt);
}

train::TaskLoss SteamTask::forward() {
  at::Generator dropout = make_generator(
      stream_seed(static_cast<uint64_t>(step_.actor.seed), kSteamDropoutStream, static_cast<uint64_t>(batch_number_)));
  const Tensor logits = ensemble_->logits(static_cast<size_t>(branch()), batch_, &dropout);
  const Tensor losses = smoothed_cross_entropy(logits, labels_, step_.actor.steam.label_smoothing);
  sums_.add(logits.detach(), labels_, losses.detach());
  return {.loss = losses.mean(), .samples = batch_.size() * group_->world()};
}

void SteamTask::Sums::add(const Tensor& logits, const Tensor& labels, const Tensor& losses) {
  const BinHits hits = bin_hits(logits, labels);
  loss += losses.sum().item<double>();
  best += hits.best;
  neighbor += hits.neighbor;
  count += labels.size(0);
}

void SteamTask::Sums::add(std::span<const double> numbers) {
  loss += numbers[0];
  best += numbers[1];
  neighbor += numbers[2];
  count += static_cast<int64_t>(numbers[3]);
}

train::DataSize SteamTask::size() const {
  return {.num_frames = items_->num_frames(), .num_episodes = data_->mixture->num_episodes()};
}

Json SteamTask::take_metrics() {
  std::vector<double> numbers = sums_.packed();
  sum_over_ranks(*group_, numbers);
  sums_ = Sums();
  Sums all;
  all.add(numbers);
  const double n = static_cast<double>(std::max<int64_t>(1, all.count));
  const Json metrics = Json::object({{"global_step", loop_step_ / ensemble_->config().ensemble_size},
                                     {"acc_best", all.best / n},
                                     {"acc_neighbor", all.neighbor / n}});
  return metrics;
}

/// Means over all members, on at most kEvalPairs pairs with fixed strides.
SteamTask::Sums SteamTask::evaluate(const SteamDataset& dataset) {
  const at::NoGradGuard no_graph;
  auto data = std::make_shared<SteamData>();
  data->train.push_back(dataset);
  data->mixture = std::make_shared<const data::Mixture>(dataset.dataset);
  data->reference_length = data_->reference_length;
  const auto items = std::make_shared<const AscendingOrder>(
      std::min(dataset.num_items(), dataset.max_samples.value_or(kEvalPairs)), step_.actor.micro_batch_size);
  const auto order = std::make_shared<const SteamOrder>(
      SteamOrder::with_fixed_strides(data, step_.actor.steam, static_cast<uint64_t>(step_.actor.seed), items));
  data::Loader loader(data->mixture,
                      {.num_workers = worker_count(step_.data.eval_num_workers, step_.data.num_workers),
                       .prefetch = static_cast<int>(step_.data.prefetch_factor),
                       .format = steam_format(ensemble_->config(), dataset.slots),
                       .sampler = {}},
                      std::make_shared<const EveryNthBatch>(order, group_->rank(), group_->world()), 0);
  const auto judge = [&](int64_t i) {
    const Tensor labels = device::place(at::tensor(order->labels(i)));
    const Tensor all = ensemble_->all_logits(steam_batch(loader.next(), dataset.slots, tokenizer_,
                                                         ensemble_->config().max_token_len, step_.data.default_prompt));
    Sums batch;
    for (int64_t m = 0; m < all.size(0); ++m) {
      batch.add(all[m], labels, smoothed_cross_entropy(all[m], labels, step_.actor.steam.label_smoothing));
    }
    return batch.packed();
  };
  Sums sums;
  dist::share_work(*group_, 0, items->batches(), judge,
                   [&sums](int64_t, std::span<const double> numbers) { sums.add(numbers); });
  return sums;
}

bool SteamTask::validate(train::MetricsLog& log, int64_t step) {
  if (data_->eval.empty()) {
    return false;
  }
  const double start = wall_seconds();
  const int64_t global_step = step / ensemble_->config().ensemble_size;
  Json row = Json::object({{"global_step", global_step}});
  last_validation_.clear();
  const auto share = 1.0 / static_cast<double>(data_->eval.size());
  for (const SteamDataset& dataset : data_->eval) {
    const Sums sums = evaluate(dataset);
    const auto n = static_cast<double>(sums.count);
    for (const auto& [name, value] : {std::pair("loss", sums.loss / n), std::pair("acc_best", sums.best / n),
                                      std::pair("acc_neighbor", sums.neighbor / n)}) {
      row["eval/" + dataset.name + "/" + name] = value;
      last_validation_[name] += value * share;
    }
  }
  for (const auto& [name, value] : last_validation_) {
    row["eval/" + name] = value;
  }
  row["time/evaluate"] = wall_seconds() - start;
  log.row(step, row);
  const double loss = last_validation_.at("loss");
  log_info("validated", {{"step", global_step},
                         {"loss", short_number(loss)},
                         {"acc_best", short_number(last_validation_["acc_best"])},
                         {"seconds", short_number(wall_seconds() - start, 3)}});
  return best_.offer(global_step, loss);
}

std::string SteamTask::save(const train::LoopState& state) {
  const int64_t global_step = state.progress.step / ensemble_->config().ensemble_size;
  const auto write_model = [&](const std::string& folder) {
    models::save_steam_weights(*ensemble_, folder + "/model.safetensors");
    write_file_atomic(folder + "/config.json", models::to_json(ensemble_->config()).dump(2));
  };
  const std::string folder = run_.save(global_step, write_model, tokenizer_, state, best_.best());
  best_.saved(run_, global_step, step_.runner.save_interval);
  return folder;
}

}  // namespace flexor::recap
