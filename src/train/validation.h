#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "data/batch_reader.h"
#include "data/mixture.h"
#include "data/processor.h"
#include "dist/group.h"
#include "models/policy_model.h"
#include "train/train_config.h"

namespace flexor::train {

/// The flow-matching loss on held-out episodes. Frames are evenly spaced; noise and time of a frame depend on nothing
/// but the seed and its place in the list, so that losses of different steps and runs compare.
class Validator {
 public:
  Validator(const TrainConfig& config, const schema::PolicyConfig& policy,
            std::shared_ptr<const data::Mixture> held_out, std::shared_ptr<const data::Processor> processor,
            std::shared_ptr<dist::Group> group);

  struct Result {
    double loss = 0;
    int64_t samples = 0;
    double seconds = 0;
  };
  /// Mean over the samples, which the ranks share; all get the same. Builds no graph.
  /// @throws Error(kInterrupted) between batches after Ctrl-C or SIGTERM, on all ranks if on any
  Result evaluate(models::PolicyModel& model);

 private:
  std::shared_ptr<const data::Processor> processor_;
  std::shared_ptr<dist::Group> group_;
  data::BatchReader reader_;
  std::vector<int64_t> positions_;
  int64_t batch_size_;
  uint64_t seed_;
};

/// `count` positions of 0..total-1, evenly spaced; all for count 0 or above total.
std::vector<int64_t> evenly_spaced(int64_t total, int64_t count);

}  // namespace flexor::train
