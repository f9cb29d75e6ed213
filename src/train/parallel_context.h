#pragma once
#include <cstdint>
#include <memory>

#include "optim/adamw.h"

namespace flexor::train {

/// What the training loop needs from a group of ranks. The loop calls these at fixed places and knows nothing else
/// about ranks, so that data parallelism or sharding is another implementation of this class.
class ParallelContext {
 public:
  virtual ~ParallelContext() = default;
  virtual int64_t rank() const = 0;
  virtual int64_t world() const = 0;
  bool is_main() const { return rank() == 0; }

  /// After the last backward pass of a step: gradients become the mean over the ranks.
  virtual void reduce_gradients(optim::AdamW& optimizer) = 0;
  /// The mean over the ranks of a number that each has, for logs and for stopping together.
  virtual double mean(double value) = 0;
  /// True on all ranks if it is true on any.
  virtual bool any(bool value) = 0;
  virtual void barrier() = 0;
};

/// One process, nobody to talk to.
std::unique_ptr<ParallelContext> single_process();

/// Number of ranks that a launcher started (WORLD_SIZE), 1 without. @throws Error(kConfig) if it is not a number above
/// 0
int64_t launched_world();

}  // namespace flexor::train
