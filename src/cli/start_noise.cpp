#include "cli/start_noise.h"

#include "models/flow_time.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"

namespace flexor::cli {

Tensor start_noise(const schema::BatchFile& file, const schema::PolicyConfig& config, int64_t seed) {
  for (const char* name : {"sample_noise", "noise"}) {
    if (file.has(name)) {
      return file.at(name);
    }
  }
  at::Generator generator = make_generator(static_cast<uint64_t>(seed));
  return models::sample_noise(file.batch.size(), config, generator);
}

}  // namespace flexor::cli
