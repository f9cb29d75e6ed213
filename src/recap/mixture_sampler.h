#pragma once
#include <cstdint>
#include <vector>

#include "recap/numpy_random.h"

namespace flexor::recap {

/// Which frames a step trains on when several datasets are mixed, draw for draw as RLinf's weighted mixture:
///   s_i = weight_i * (len_i if balance else 1), normalised, in float32 (which may cost a sample of the length); empty
///         datasets are left out
///   primary: datasets of weight 1, else those of the largest weight;  length = floor(max over primary of len_i / s_i)
///   item(epoch, index): a generator seeded by SHA-256 of "(epoch, index, seed)", lowest 128 bits, chooses the dataset
///   by s, then a frame uniformly, with replacement
/// Ranks: the epoch's order of indices is torch.randperm(length) of a generator seeded by seed + epoch, rank r takes
/// every world-th (DistributedSampler with drop_last).
class MixtureSampler {
 public:
  /// @param lengths  frames of each dataset  @param weights  >= 0, one each; all 0: equal shares
  /// @throws Error(kData) if no dataset has frames; Error(kConfig) for a weight that is negative or not finite
  MixtureSampler(const std::vector<int64_t>& lengths, const std::vector<double>& weights, bool balance, int64_t seed);

  struct Item {
    int64_t dataset;  ///< index into `lengths`
    int64_t sample;   ///< 0..lengths[dataset]-1
    friend bool operator==(const Item&, const Item&) = default;
  };
  Item item(int64_t epoch, int64_t index) const;
  /// Seeded by the index alone, for evaluation.
  Item fixed_item(int64_t index) const;

  int64_t length() const { return length_; }  ///< samples an epoch
  /// Shares of the datasets with frames, in order; they sum to 1.
  const std::vector<float>& shares() const { return shares_; }

  /// Indices of rank `rank` in the order of epoch `epoch`.
  /// @param seed  of the order: 0 in the reference
  std::vector<int64_t> order(int64_t epoch, int64_t rank, int64_t world, int64_t seed = 0) const;

 private:
  Item draw(NumpyGenerator generator) const;

  std::vector<int64_t> datasets_, lengths_;  // those with frames
  std::vector<float> shares_;
  std::vector<double> wide_shares_;
  int64_t length_ = 0, seed_ = 0;
};

/// The lowest 128 bits of SHA-256 of the Python text "(epoch, index, seed)".
Wide sample_seed(int64_t epoch, int64_t index, int64_t seed);

}  // namespace flexor::recap
