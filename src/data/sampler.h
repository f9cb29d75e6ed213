#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "data/mixture.h"

namespace flexor::data {

struct SamplerConfig {
  uint64_t seed = 1000;
  int64_t batch_size = 8;  ///< per rank
  int64_t rank = 0, world = 1;
  bool shuffle = true;             ///< false: ascending positions, for evaluation
  int64_t drop_n_last_frames = 0;  ///< of each episode; 0 for pi0 and pi0.5
};

/// Where a run stands in the data, as LeRobot stores it: the next sample is order(epoch)[start_index].
struct SamplerState {
  int64_t epoch = 0, start_index = 0;
  friend bool operator==(const SamplerState&, const SamplerState&) = default;
};

/// Which frames the batches of a run hold. Thread-safe.
class BatchOrder {
 public:
  virtual ~BatchOrder() = default;

  struct Batch {
    int64_t epoch = 0;
    int64_t first_index = 0;         ///< place of the batch's first sample in the epoch's order
    std::vector<int64_t> positions;  ///< global positions of the mixture
  };
  /// This rank's batch number `step`, counted from 0 over all epochs.
  virtual Batch batch(int64_t step) const = 0;
  virtual int64_t num_frames() const = 0;              ///< samples an epoch
  virtual SamplerState state(int64_t step) const = 0;  ///< before batch number `step`
};

/// LeRobot's order: a pure function of (seed, epoch, step), whatever the threads or ranks.
///
/// One dataset: the order of an epoch is torch.randperm(n) with a generator seeded by epoch_seed(seed, epoch)
/// (LeRobot's EpisodeAwareSampler). Several datasets: an epoch has as many samples as all frames together; sample i
/// comes from a dataset drawn with its share as probability, from a generator seeded by epoch_seed(seed, epoch), and is
/// the next frame of that dataset's own permutation, which is drawn anew whenever it is used up.
///
/// Ranks take turns: global batch k goes to rank k mod world, so that the global order does not depend on the number of
/// ranks. The last batch of an epoch may be smaller with one rank; with more, it is filled up with the epoch's first
/// samples until every rank has as many batches (Accelerate's even batches).
class Sampler final : public BatchOrder {
 public:
  /// @throws Error(kConfig) for sizes that are not positive or a rank out of range; Error(kData) if no frame is left
  Sampler(const Mixture& mixture, const SamplerConfig& config);

  Batch batch(int64_t step) const override;
  int64_t num_frames() const override { return num_frames_; }
  int64_t batches_per_epoch() const;  ///< of one rank
  SamplerState state(int64_t step) const override;
  const SamplerConfig& config() const { return config_; }

  /// Order of one epoch, over all ranks. Thread-safe; the last few epochs are kept.
  std::shared_ptr<const std::vector<int64_t>> order(int64_t epoch) const;

 private:
  std::vector<int64_t> make_order(int64_t epoch) const;
  std::vector<int64_t> mixed_order(uint64_t seed) const;

  SamplerConfig config_;
  std::vector<std::vector<int64_t>> frames_;  ///< per part: global positions that take part
  std::vector<double> shares_;
  int64_t num_frames_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<int64_t, std::shared_ptr<const std::vector<int64_t>>> orders_;
};

/// First 64 bits of numpy.random.SeedSequence([seed, epoch]).
uint64_t epoch_seed(uint64_t seed, uint64_t epoch);

/// Positions of the half-open ranges without the first and last frames of each, in order; ranges that become empty
/// vanish.
std::vector<int64_t> kept_positions(std::span<const std::pair<int64_t, int64_t>> ranges, int64_t drop_n_first_frames,
                                    int64_t drop_n_last_frames);

/// torch.randperm(n) with a CPU generator of this seed.
std::vector<int64_t> random_permutation(int64_t n, uint64_t seed);

}  // namespace flexor::data
