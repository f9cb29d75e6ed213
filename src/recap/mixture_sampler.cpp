#include "recap/mixture_sampler.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/str_cat.h"
#include "data/sampler.h"

namespace flexor::recap {

Wide sample_seed(int64_t epoch, int64_t index, int64_t seed) {
  const auto digest = sha256(str_cat("(", epoch, ", ", index, ", ", seed, ")"));
  Wide result;
  for (size_t i = 16; i < 24; ++i) {
    result.high = result.high << 8U | digest[i];
    result.low = result.low << 8U | digest[i + 8];
  }
  return result;
}

MixtureSampler::MixtureSampler(const std::vector<int64_t>& lengths, const std::vector<double>& weights, bool balance,
                               int64_t seed)
    : seed_(seed) {
  std::vector<double> kept;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0) {
      throw Error(ErrorKind::kConfig, str_cat("weight of dataset ", i, " is ", weights[i], ", expected at least 0"));
    }
    if (lengths[i] > 0) {
      datasets_.push_back(static_cast<int64_t>(i));
      lengths_.push_back(lengths[i]);
      kept.push_back(weights[i]);
    }
  }
  if (datasets_.empty()) {
    throw Error(ErrorKind::kData, "no dataset has frames to train on");
  }
  float sum = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    const float factor = balance ? static_cast<float>(lengths_[i]) : 1.0F;
    shares_.push_back(static_cast<float>(kept[i]) * factor);
    sum += shares_.back();
  }
  for (float& share : shares_) {
    share = sum > 0 ? share / sum : 1.0F / static_cast<float>(shares_.size());
    wide_shares_.push_back(share);
  }
  const bool has_one = std::find(kept.begin(), kept.end(), 1.0) != kept.end();
  const double primary = has_one ? 1.0 : *std::max_element(kept.begin(), kept.end());
  double longest = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] == primary && shares_[i] > 0) {
      longest = std::max(longest, static_cast<double>(lengths_[i]) / wide_shares_[i]);
    }
  }
  length_ = static_cast<int64_t>(longest);
}

MixtureSampler::Item MixtureSampler::draw(NumpyGenerator generator) const {
  const auto chosen = static_cast<size_t>(generator.choice(wide_shares_));
  return {datasets_[chosen], generator.integer(lengths_[chosen])};
}

MixtureSampler::Item MixtureSampler::item(int64_t epoch, int64_t index) const {
  return draw(NumpyGenerator(sample_seed(epoch, index, seed_)));
}

MixtureSampler::Item MixtureSampler::fixed_item(int64_t index) const {
  return draw(NumpyGenerator(Wide{0, static_cast<uint64_t>(index)}));
}

std::vector<int64_t> MixtureSampler::order(int64_t epoch, int64_t rank, int64_t world, int64_t seed) const {
  const std::vector<int64_t> all = data::random_permutation(length_, static_cast<uint64_t>(seed + epoch));
  std::vector<int64_t> own;
  const int64_t used = length_ / world * world;
  for (int64_t i = rank; i < used; i += world) {
    own.push_back(all[static_cast<size_t>(i)]);
  }
  return own;
}

}  // namespace flexor::recap
