// What guidance costs while sampling: one observation, two cameras, 10 Euler steps, a pi0.5 of 104 M random parameters,
// two threads, the cases in turns. One JSON line a case, CPU seconds a chunk:
//   plain      one prompt
//   guided     (1 - w) v_plain + w v_labelled, both prompts in one batch
//   guided / plain   two separate runs would be 2
//
//   guidance_bench [ROUNDS [float32|bfloat16]]
#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "models/init.h"
#include "models/policy_model.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"

namespace {

using namespace flexor;

constexpr int64_t kSide = 224, kStateDim = 14, kPlainTokens = 20, kLabelledTokens = 24;

schema::PolicyConfig mid_config(const std::string& dtype) {
  schema::PolicyConfig config = schema::default_policy_config("pi05");
  for (const char* camera : {"base_0_rgb", "left_wrist_0_rgb"}) {
    config.input_features.push_back(
        {std::string(schema::kImagePrefix) + camera, schema::FeatureType::kVisual, {3, kSide, kSide}});
  }
  config.input_features.push_back({std::string(schema::kStateKey), schema::FeatureType::kState, {kStateDim}});
  config.output_features = {{std::string(schema::kActionKey), schema::FeatureType::kAction, {kStateDim}}};
  config.dtype = dtype;
  config.architecture = schema::Architecture{
      .vocab_size = 32768,
      .vision = {.width = 384, .depth = 6, .num_heads = 6, .mlp_dim = 1536, .patch_size = 14},
      .paligemma = {.width = 512, .depth = 6, .mlp_dim = 4096, .num_heads = 8, .num_kv_heads = 1, .head_dim = 64},
      .action_expert = {.width = 256, .depth = 6, .mlp_dim = 1024, .num_heads = 8, .num_kv_heads = 1, .head_dim = 64}};
  return config;
}

schema::Batch random_batch(const schema::PolicyConfig& config, at::Generator& generator) {
  schema::Batch batch;
  for (const schema::PolicyFeature& camera : config.cameras()) {
    const Tensor pixels = at::randint(0, 256, {1, 3, kSide, kSide}, generator, at::kByte);
    batch.cameras.push_back({camera.name, pixels});
  }
  batch.tokens = at::randint(3, 32768, {1, kPlainTokens}, generator, at::kLong);
  batch.token_mask = at::ones({1, kPlainTokens}, at::kBool);
  return batch;
}

void print(const char* name, const std::string& dtype, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::printf(
      "{\"bench\": \"guidance\", \"case\": \"%s\", \"dtype\": \"%s\", \"threads\": %d, \"median\": %.4g, \"min\": "
      "%.4g, \"max\": %.4g, \"n\": %zu}\n",
      name, dtype.c_str(), at::get_num_threads(), values[values.size() / 2], values.front(), values.back(),
      values.size());
}

void measure(int rounds, const std::string& dtype) {
  at::Generator generator = make_generator(/*seed=*/7);
  const schema::PolicyConfig config = mid_config(dtype);
  const auto model = models::make_policy(config);
  models::init_weights(*model, generator);
  const schema::Batch batch = random_batch(config, generator);
  const Tensor noise = at::randn({1, config.chunk_size, config.max_action_dim}, generator);
  models::SampleOptions guided{.num_steps = config.num_inference_steps};
  guided.guided = models::GuidedPrompt{at::randint(3, 32768, {1, kLabelledTokens}, generator, at::kLong),
                                       at::ones({1, kLabelledTokens}, at::kBool), 1.5};
  const auto cost = [&](const models::SampleOptions& options) {
    const double start = process_cpu_seconds();
    model->sample(batch, noise, options);
    return process_cpu_seconds() - start;
  };
  std::vector<double> plain_s, guided_s, ratio;
  for (int round = -1; round < rounds; ++round) {
    const double plain = cost({.num_steps = config.num_inference_steps}), both = cost(guided);
    if (round >= 0) {  // the first one warms up
      plain_s.push_back(plain);
      guided_s.push_back(both);
      ratio.push_back(both / plain);
    }
  }
  print("plain, CPU s", dtype, plain_s);
  print("guided, CPU s", dtype, guided_s);
  print("guided / plain", dtype, ratio);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    at::set_num_threads(2);
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
    for (const char* dtype : {"float32", "bfloat16"}) {
      if (argc <= 2 || std::string(argv[2]) == dtype) {
        measure(std::max(rounds, 1), dtype);
      }
    }
  } catch (const std::exception& exception) {
    std::fputs(format_error(to_error(exception)).c_str(), stderr);
    return 1;
  }
  return 0;
}
