#include "train/noise.h"

#include <vector>

#include "models/flow_time.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"

namespace flexor::train {

FlowDraw draw_flow(const schema::PolicyConfig& config, uint64_t seed, Stream stream, int64_t batch, int64_t size,
                   int64_t first) {
  std::vector<Tensor> noise, time;
  for (int64_t j = 0; j < size; ++j) {
    at::Generator generator = make_generator(stream_seed(
        seed, static_cast<uint64_t>(stream), static_cast<uint64_t>(batch), static_cast<uint64_t>(first + j)));
    noise.push_back(models::sample_noise(1, config, generator));
    time.push_back(models::sample_time(1, config, generator));
  }
  return {at::cat(noise), at::cat(time)};
}

}  // namespace flexor::train
