#include "recap/batch_order.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"

namespace flexor::recap {
namespace {

constexpr size_t kKeptOrders = 3;  // workers are at most one epoch ahead of the loop

bool is_mixed(const RecapOrderConfig& config) {
  return config.mix_single || config.lengths.size() > 1;
}

}  // namespace

void RecapOrderConfig::add_dataset(int64_t length, int64_t start, double weight) {
  lengths.push_back(length);
  starts.push_back(start);
  weights.push_back(weight);
}

RecapOrder::RecapOrder(RecapOrderConfig config) : config_(std::move(config)) {
  if (is_mixed(config_)) {
    mixture_.emplace(config_.lengths, config_.weights, config_.balance, config_.seed);
    length_ = mixture_->length();
  } else {
    length_ = config_.lengths.empty() ? 0 : config_.lengths.front();
  }
  batches_ = length_ / config_.micro_batch_size;
  if (batches_ < 1) {
    throw Error(
        ErrorKind::kData,
        str_cat("the datasets give ", length_, " samples an epoch, a micro batch has ", config_.micro_batch_size),
        "actor.micro_batch_size", "use smaller batches or more data");
  }
  steps_per_epoch_ = std::max<int64_t>(1, batches_ / (config_.accumulation * config_.world));
}

RecapOrder::Indices RecapOrder::order(int64_t epoch) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = orders_.find(epoch); found != orders_.end()) {
    return found->second;
  }
  std::vector<int64_t> indices = mixture_ ? mixture_->order(epoch, /*rank=*/0, /*world=*/1)
                                          : data::random_permutation(length_, static_cast<uint64_t>(epoch));
  const auto shared = std::make_shared<const std::vector<int64_t>>(std::move(indices));
  orders_[epoch] = shared;
  while (orders_.size() > kKeptOrders) {
    orders_.erase(orders_.begin()->first == epoch ? std::prev(orders_.end()) : orders_.begin());
  }
  return shared;
}

int64_t RecapOrder::position(int64_t epoch, int64_t index) const {
  const MixtureSampler::Item item = mixture_ ? mixture_->item(epoch, index) : MixtureSampler::Item{0, index};
  return config_.starts[static_cast<size_t>(item.dataset)] + item.sample;
}

/// Of a batch by its number over all ranks.
data::SamplerState RecapOrder::epoch_place(int64_t number) const {
  const int64_t per_epoch = steps_per_epoch_ * config_.accumulation * config_.world, epoch = number / per_epoch;
  return {.epoch = epoch, .start_index = (number - epoch * per_epoch) % batches_ * config_.micro_batch_size};
}

RecapOrder::StepPlace RecapOrder::step_place(int64_t step) const {
  const int64_t per_step = config_.accumulation * config_.world, n = number(step);
  return {.step = n / per_step, .first = n % per_step * config_.micro_batch_size};
}

/// The epoch's place at which all ranks go on together.
data::SamplerState RecapOrder::state(int64_t step) const {
  return epoch_place(step * config_.world);
}

data::BatchOrder::Batch RecapOrder::batch(int64_t step) const {
  const data::SamplerState at = epoch_place(number(step));
  const Indices indices = order(at.epoch);
  Batch batch{.epoch = at.epoch, .first_index = at.start_index, .positions = {}};
  for (int64_t i = at.start_index; i < at.start_index + config_.micro_batch_size; ++i) {
    batch.positions.push_back(position(at.epoch, (*indices)[static_cast<size_t>(i)]));
  }
  return batch;
}

data::BatchOrder::Batch AscendingOrder::batch(int64_t step) const {
  const int64_t first = step % batches() * batch_size_, end = std::min(samples_, first + batch_size_);
  Batch batch{.epoch = 0, .first_index = first, .positions = {}};
  for (int64_t i = first; i < end; ++i) {
    batch.positions.push_back(i);
  }
  return batch;
}

}  // namespace flexor::recap
