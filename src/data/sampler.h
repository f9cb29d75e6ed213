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

/// Where a run stands in the data, as LeRobot stores it: the next sample is order(epoch)[start_index].
struct SamplerState {
  int64_t epoch = 0, start_index = 0;
  friend bool operator==(const SamplerState&, const SamplerState&) = default;
};

struct SamplerConfig {
  uint64_t seed = 1000;
  int64_t batch_size = 8;  ///< per rank and micro batch
  int64_t rank = 0, world = 1;
  int64_t accumulation = 1;  ///< micro batches a step
  /// Steps that were done before, and where they ended: a run may go on with other batches. From there on every epoch
  /// starts with its first sample.
  int64_t first_step = 0;
  SamplerState start = {};
  bool shuffle = true;             ///< false: ascending positions, for evaluation
  int64_t drop_n_last_frames = 0;  ///< of each episode; 0 for pi0 and pi0.5
};

/// Which frames the batches of a run hold. Thread-safe.
class BatchOrder {
 public:
  virtual ~BatchOrder() = default;

  struct Batch {
    int64_t epoch = 0;
    int64_t first_index = 0;         ///< place of the batch's first sample in the epoch's order
    std::vector<int64_t> positions;  ///< global positions of the mixture, at least one
  };
  /// This rank's batch number `step`, counted from 0 over all epochs; with accumulation, of the micro batches.
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
/// A step takes the next batch_size * world * accumulation samples of the epoch's order, what is left of it at its end:
/// which samples a step trains on depends on nothing but that product. Micro batch m of rank r is the slice number
/// m * world + r of the step. In a small last step some have fewer samples or none; one without gets the step's first
/// sample as a stand-in that must not count.
class Sampler final : public BatchOrder {
 public:
  /// @throws Error(kConfig) for sizes that are not positive or a rank out of range; Error(kData) if no frame is left
  Sampler(const Mixture& mixture, const SamplerConfig& config);

  Batch batch(int64_t step) const override;
  int64_t num_frames() const override { return num_frames_; }
  /// The slice of a step that batch number `number` is.
  struct Slice {
    int64_t step = 0;           ///< of the run
    int64_t offset = 0;         ///< of the slice's first sample in the step
    int64_t count = 0;          ///< samples that count; 0: a stand-in
    int64_t step_samples = 0;   ///< of all ranks and micro batches
    int64_t micro_samples = 0;  ///< of all ranks in this micro batch
  };
  Slice slice(int64_t number) const;
  int64_t batches_per_epoch() const;  ///< of one rank, in whole epochs
  int64_t step_size() const { return config_.batch_size * config_.world * config_.accumulation; }
  SamplerState state(int64_t step) const override;
  const SamplerConfig& config() const { return config_; }

  /// Order of one epoch, over all ranks. Thread-safe; the last few epochs are kept.
  std::shared_ptr<const std::vector<int64_t>> order(int64_t epoch) const;

 private:
  SamplerState place(int64_t step) const;
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
