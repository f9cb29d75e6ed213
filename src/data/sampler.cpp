#include "data/sampler.h"

#include <ATen/ops/randperm.h>
#include <algorithm>
#include <random>

#include "base/error.h"
#include "base/str_cat.h"
#include "data/seed_sequence.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"

namespace flexor::data {
namespace {

// Ranges of global positions that the episodes of one part cover.
std::vector<std::pair<int64_t, int64_t>> episode_ranges(const Mixture& mixture, int64_t part) {
  const Dataset& dataset = mixture.dataset(part);
  const int64_t start = mixture.first_position(part);
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (int64_t e = 0; e < dataset.num_episodes(); ++e) {
    const int64_t from = start + dataset.first_position(e);
    ranges.emplace_back(from, from + dataset.episode(e).length);
  }
  return ranges;
}

void check(const SamplerConfig& config) {
  if (config.batch_size <= 0) {
    throw Error(ErrorKind::kConfig, str_cat("batch_size must be positive, is ", config.batch_size), "batch_size");
  }
  if (config.world <= 0 || config.rank < 0 || config.rank >= config.world) {
    throw Error(ErrorKind::kConfig, str_cat("rank ", config.rank, " of ", config.world, " ranks"), "sampler");
  }
  if (config.accumulation <= 0) {
    throw Error(ErrorKind::kConfig, str_cat("accumulation must be positive, is ", config.accumulation), "sampler");
  }
}

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

uint64_t epoch_seed(uint64_t seed, uint64_t epoch) {
  const uint64_t entropy[] = {seed, epoch};
  return seed_sequence_u64(entropy);
}

std::vector<int64_t> kept_positions(std::span<const std::pair<int64_t, int64_t>> ranges, int64_t drop_n_first_frames,
                                    int64_t drop_n_last_frames) {
  std::vector<int64_t> positions;
  for (const auto& [from, to] : ranges) {
    for (int64_t p = from + drop_n_first_frames; p < to - drop_n_last_frames; ++p) {
      positions.push_back(p);
    }
  }
  return positions;
}

std::vector<int64_t> random_permutation(int64_t n, uint64_t seed) {
  const Tensor order = at::randperm(n, make_generator(seed), at::TensorOptions().dtype(at::kLong));
  const int64_t* values = order.const_data_ptr<int64_t>();
  return {values, values + n};
}

Sampler::Sampler(const Mixture& mixture, const SamplerConfig& config) : config_(config) {
  check(config);
  for (int64_t part = 0; part < mixture.num_parts(); ++part) {
    frames_.push_back(kept_positions(episode_ranges(mixture, part), 0, config.drop_n_last_frames));
    if (frames_.back().empty()) {
      throw Error(ErrorKind::kData,
                  str_cat("no frame to sample from ", mixture.dataset(part).num_episodes(), " episodes",
                          config.drop_n_last_frames > 0
                              ? str_cat(" without the last ", config.drop_n_last_frames, " frames of each")
                              : ""),
                  mixture.dataset(part).root());
    }
    shares_.push_back(mixture.share(part));
    num_frames_ += static_cast<int64_t>(frames_.back().size());
  }
  config_.start.start_index = std::clamp<int64_t>(config_.start.start_index, 0, num_frames_);
}

int64_t Sampler::batches_per_epoch() const {
  return ceil_div(num_frames_, step_size()) * config_.accumulation;
}

/// Where a step starts.
SamplerState Sampler::place(int64_t step) const {
  const int64_t per_epoch = ceil_div(num_frames_, step_size());
  const int64_t since = step - config_.first_step,
                rest = ceil_div(num_frames_ - config_.start.start_index, step_size());
  if (since < rest) {
    return {config_.start.epoch, config_.start.start_index + since * step_size()};
  }
  const int64_t later = since - rest;
  return {config_.start.epoch + 1 + later / per_epoch, later % per_epoch * step_size()};
}

Sampler::Slice Sampler::slice(int64_t number) const {
  const int64_t step = number / config_.accumulation, micro = number % config_.accumulation;
  const int64_t left = num_frames_ - place(step).start_index;
  Slice slice{.step = step, .offset = (micro * config_.world + config_.rank) * config_.batch_size};
  slice.step_samples = std::min(step_size(), left);
  slice.count = std::clamp<int64_t>(slice.step_samples - slice.offset, 0, config_.batch_size);
  const int64_t size = config_.world * config_.batch_size;
  slice.micro_samples = std::clamp<int64_t>(slice.step_samples - micro * size, 0, size);
  return slice;
}

Sampler::Batch Sampler::batch(int64_t step) const {
  const Slice part = slice(step);
  const SamplerState at = place(part.step);
  Batch batch{.epoch = at.epoch, .first_index = at.start_index + (part.count > 0 ? part.offset : 0), .positions = {}};
  const auto epoch_order = order(batch.epoch);
  for (int64_t i = 0; i < std::max<int64_t>(1, part.count); ++i) {
    batch.positions.push_back((*epoch_order)[static_cast<size_t>(batch.first_index + i)]);
  }
  return batch;
}

SamplerState Sampler::state(int64_t step) const {
  return place(step / config_.accumulation);
}

std::shared_ptr<const std::vector<int64_t>> Sampler::order(int64_t epoch) const {
  const std::lock_guard lock(mutex_);
  auto& entry = orders_[epoch];
  if (!entry) {
    entry = std::make_shared<const std::vector<int64_t>>(make_order(epoch));
    while (orders_.size() > 2) {  // prefetching touches this epoch and the next
      orders_.erase(orders_.begin()->first == epoch ? std::prev(orders_.end()) : orders_.begin());
    }
  }
  return orders_[epoch];
}

std::vector<int64_t> Sampler::make_order(int64_t epoch) const {
  const uint64_t seed = epoch_seed(config_.seed, static_cast<uint64_t>(epoch));
  if (config_.shuffle && frames_.size() > 1) {
    return mixed_order(seed);
  }
  std::vector<int64_t> order;
  for (const auto& frames : frames_) {
    order.insert(order.end(), frames.begin(), frames.end());
  }
  if (config_.shuffle) {
    std::vector<int64_t> shuffled;
    for (const int64_t i : random_permutation(num_frames_, seed)) {
      shuffled.push_back(order[static_cast<size_t>(i)]);
    }
    return shuffled;
  }
  return order;
}

std::vector<int64_t> Sampler::mixed_order(uint64_t seed) const {
  std::mt19937_64 random(seed);
  std::vector<std::vector<int64_t>> permutations(frames_.size());
  std::vector<size_t> used(frames_.size(), 0);
  std::vector<int64_t> order;
  for (int64_t i = 0; i < num_frames_; ++i) {
    double u = static_cast<double>(random() >> 11U) * 0x1p-53;  // uniform in [0, 1), the same everywhere
    size_t part = 0;
    while (part + 1 < shares_.size() && u >= shares_[part]) {
      u -= shares_[part++];
    }
    const std::vector<int64_t>& frames = frames_[part];
    const size_t pass = used[part] / frames.size(), within = used[part] % frames.size();
    if (within == 0) {
      permutations[part] = random_permutation(static_cast<int64_t>(frames.size()), stream_seed(seed, part, pass));
    }
    order.push_back(frames[static_cast<size_t>(permutations[part][within])]);
    ++used[part];
  }
  return order;
}

}  // namespace flexor::data
