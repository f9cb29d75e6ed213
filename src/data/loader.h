#pragma once
#include <cstdint>
#include <memory>

#include "data/batch_reader.h"
#include "data/mixture.h"
#include "data/raw_batch.h"
#include "data/sampler.h"

namespace flexor::data {

struct LoaderConfig {
  int num_workers = 2;  ///< threads that decode; 0 = the caller decodes in next()
  int prefetch = 2;     ///< batches read ahead per worker
  BatchFormat format;
  SamplerConfig sampler;
};

/// Hands out the batches of a training run in the order of a sampler, read ahead by worker threads in this process.
/// What next() returns depends on the configuration and the step only, not on the number of workers.
///
///   Loader loader(mixture, config, /*first_step=*/resumed_step);
///   while (...) { RawBatch batch = loader.next(); ... }
class Loader {
 public:
  /// @param first_step  number of batches this rank has consumed before (resume); 0 starts a run
  Loader(std::shared_ptr<const Mixture> mixture, const LoaderConfig& config, int64_t first_step = 0);
  /// The same in another order; `config.sampler` is not looked at.
  Loader(std::shared_ptr<const Mixture> mixture, const LoaderConfig& config, std::shared_ptr<const BatchOrder> order,
         int64_t first_step);
  ~Loader();  ///< ends the workers; waits for at most the picture that each is decoding
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The next batch; never ends, epoch follows epoch. @throws the Error that a worker met, for this and later calls
  RawBatch next();

  int64_t step() const;        ///< batches handed out, `first_step` included
  SamplerState state() const;  ///< position before the next batch
  double epoch() const;        ///< epochs consumed by all ranks, with fraction
  const BatchOrder& order() const;
  double waited_s() const;  ///< seconds that next() waited (or read by itself) since the start

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flexor::data
