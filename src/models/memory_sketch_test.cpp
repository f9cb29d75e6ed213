// What is imagined against what the real models allocate, counted in PyTorch's allocator.
#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <gtest/gtest.h>
#include <mutex>
#include <unordered_map>

#include "models/flow_sketch.h"
#include "models/lora.h"
#include "models/trainable.h"
#include "nn/named_params.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"
#include "testing/sanitized.h"

namespace flexor::models {
namespace {

/// PyTorch's memory on the CPU, counted.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* data = c10::alloc_cpu(bytes);
    const std::lock_guard lock(mutex());
    sizes()[data] = static_cast<double>(bytes);
    live += static_cast<double>(bytes);
    peak = std::max(peak, live);
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t count) const override { default_copy_data(to, from, count); }

  static inline double live = 0, peak = 0;

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::unordered_map<void*, double>& sizes() {
    static std::unordered_map<void*, double> all;
    return all;
  }
  static void release(void* data) {
    {
      const std::lock_guard lock(mutex());
      live -= sizes()[data];
      sizes().erase(data);
    }
    c10::free_cpu(data);
  }
};

class Counting {
 public:
  Counting() : before_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(&own_, /*priority=*/100); }
  ~Counting() { c10::SetCPUAllocator(before_, /*priority=*/100); }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

 private:
  c10::Allocator* before_;
  static inline CountingAllocator own_;
};

struct SketchMode {
  std::string type = "pi05", dtype = "float32";
  bool fused = true, recompute = false, lora = false, frozen_vision = false;
  std::string text() const {
    return type + " " + dtype + (fused ? " fused" : " exact") + (recompute ? " recompute" : "") +
           (lora ? " lora" : "") + (frozen_vision ? " frozen vision" : "");
  }
};

constexpr int64_t kBatch = 3, kPrompt = 20;

schema::PolicyConfig sketch_config(const SketchMode& mode) {
  schema::PolicyConfig config = schema::default_policy_config(mode.type);
  config.image_resolution = {84, 84};
  config.chunk_size = config.n_action_steps = 24;
  config.dtype = mode.dtype == "bfloat16" ? "bfloat16" : "float32";
  config.freeze_vision_encoder = mode.frozen_vision;
  config.architecture = schema::Architecture{
      .vocab_size = 128,
      .vision = {.width = 96, .depth = 2, .num_heads = 4, .mlp_dim = 256, .patch_size = 14},
      .paligemma = {.width = 128, .depth = 3, .mlp_dim = 512, .num_heads = 4, .num_kv_heads = 1, .head_dim = 32},
      .action_expert = {.width = 64, .depth = 3, .mlp_dim = 256, .num_heads = 4, .num_kv_heads = 1, .head_dim = 32}};
  for (const char* name : {"observation.images.a", "observation.images.b"}) {
    config.input_features.push_back({.name = name, .type = schema::FeatureType::kVisual, .shape = {3, 84, 84}});
  }
  return config;
}

struct Found {
  double kept = 0, peak = 0, gradients = 0;
};

schema::Batch random_batch(const schema::PolicyConfig& config) {
  schema::Batch batch;
  const int64_t side = config.image_resolution[0];
  for (const auto& feature : config.cameras()) {
    batch.cameras.push_back({feature.name, at::zeros({kBatch, 3, side, side}, at::kByte)});
  }
  batch.tokens = at::ones({kBatch, kPrompt}, at::kLong);
  batch.token_mask = at::ones({kBatch, kPrompt}, at::kBool);
  batch.token_mask[0][kPrompt - 1].fill_(false);
  batch.state = at::zeros({kBatch, config.max_state_dim});
  batch.action = at::zeros({kBatch, config.chunk_size, config.max_action_dim});
  return batch;
}

std::unique_ptr<PolicyModel> sketch_model(const SketchMode& mode) {
  auto model = make_policy(sketch_config(mode), {.fused_attention = mode.fused,
                                                 .autocast = mode.dtype == "bfloat16_autocast",
                                                 .gradient_checkpointing = mode.recompute});
  set_trainable(*model);
  if (mode.lora) {
    at::Generator generator = make_generator(1);
    add_lora(*model, {.style = "openpi", .r = {}, .alpha = {}, .targets = {}}, generator);
  }
  return model;
}

Found real_step(PolicyModel& model) {
  nn::for_each_param(model, [](const std::string&, Tensor& p) { p.data().zero_(); });
  const schema::PolicyConfig& config = model.config();
  const schema::Batch batch = random_batch(config);
  const Tensor noise = at::zeros({kBatch, config.chunk_size, config.max_action_dim}), time = at::ones({kBatch});
  const auto once = [&](Found& found) {
    const double before = CountingAllocator::live;
    CountingAllocator::peak = before;
    Tensor loss = model.loss(batch, noise, time).loss;
    found.kept = CountingAllocator::live - before;
    loss.backward();
    loss.reset();
    found.peak = CountingAllocator::peak - before;
    found.gradients = CountingAllocator::live - before;
    nn::for_each_param(model, [](const std::string&, Tensor& p) { p.mutable_grad().reset(); });
  };
  const Counting counting;
  Found found;
  once(found);  // what is made once and stays
  once(found);
  return found;
}

template <typename Model>
Found imagined_step(Model& model) {
  MemoryLedger ledger;
  MemoryTape tape(ledger);
  Found found;
  {
    SketchTensor loss = sketch_loss(model, {.batch_size = kBatch, .cameras = 2, .prompt_tokens = kPrompt}, tape);
    found.kept = ledger.now().total();
    tape.backward(loss);
  }
  found.peak = ledger.peak().total();
  found.gradients = ledger.now().total();
  return found;
}

std::vector<SketchMode> sketch_modes() {
  std::vector<SketchMode> modes;
  for (const char* type : {"pi05", "pi0"}) {
    for (const char* dtype : {"float32", "bfloat16", "bfloat16_autocast"}) {
      for (const bool fused : {true, false}) {
        for (const bool recompute : {false, true}) {
          modes.push_back({.type = type, .dtype = dtype, .fused = fused, .recompute = recompute});
        }
      }
      modes.push_back({.type = type, .dtype = dtype, .lora = true});
      modes.push_back({.type = type, .dtype = dtype, .frozen_vision = true});
    }
  }
  return modes;
}

TEST(MemorySketch, OfAPolicyHoldsWhatTheRealOneAllocates) {
  if (testing::is_sanitized()) {
    GTEST_SKIP() << "compares numbers of many trainings; other tests make and run sketches";
  }
  at::set_num_threads(1);
  for (const SketchMode& mode : sketch_modes()) {
    SCOPED_TRACE(mode.text());
    const auto model = sketch_model(mode);
    const Found real = real_step(*model), imagined = imagined_step(*model);
    EXPECT_EQ(imagined.gradients, real.gradients);
    EXPECT_NEAR(imagined.kept, real.kept, 0.03 * real.kept);
    EXPECT_NEAR(imagined.peak, real.peak, 0.05 * real.peak);
  }
}

ValueConfig sketch_value_config() {
  ValueConfig config;
  config.architecture.image_size = 84;
  config.architecture.vision = {.width = 96, .depth = 3, .num_heads = 4, .mlp_dim = 256, .patch_size = 14};
  config.architecture.gemma3 = {.vocab_size = 64,
                                .width = 96,
                                .depth = 4,
                                .mlp_dim = 256,
                                .num_heads = 4,
                                .num_kv_heads = 1,
                                .head_dim = 32,
                                .query_pre_attn_scalar = 16,
                                .full_layers = {2}};
  config.architecture.expert = {
      .width = 64, .depth = 3, .mlp_dim = 128, .num_heads = 2, .num_kv_heads = 1, .head_dim = 32};
  return config;
}

Found real_value_step(ValueModel& model) {
  nn::for_each_param(model, [](const std::string&, Tensor& p) { p.data().zero_(); });
  ValueBatch batch;
  for (const char* name : {"base_0_rgb", "left_wrist_0_rgb"}) {
    batch.cameras.push_back({name, at::zeros({kBatch, 3, 84, 84}, at::kByte), {}});
  }
  batch.tokens = at::ones({kBatch, kPrompt}, at::kLong);
  batch.token_mask = at::ones({kBatch, kPrompt}, at::kBool);
  batch.token_mask[0][kPrompt - 1].fill_(false);
  const Counting counting;
  Found found;
  for (int round = 0; round < 2; ++round) {
    const double before = CountingAllocator::live;
    CountingAllocator::peak = before;
    Tensor loss = model.logits(batch).square().mean();
    found.kept = CountingAllocator::live - before;
    loss.backward();
    loss.reset();
    found.peak = CountingAllocator::peak - before;
    found.gradients = CountingAllocator::live - before;
    nn::for_each_param(model, [](const std::string&, Tensor& p) { p.mutable_grad().reset(); });
  }
  return found;
}

TEST(MemorySketch, OfAValueModelHoldsWhatTheRealOneAllocates) {
  if (testing::is_sanitized()) {
    GTEST_SKIP() << "compares numbers of many trainings; other tests make and run sketches";
  }
  at::set_num_threads(1);
  for (const bool autocast : {false, true}) {
    for (const bool recompute : {false, true}) {
      for (const bool stop : {false, true}) {
        SCOPED_TRACE(::testing::Message() << "autocast " << autocast << " recompute " << recompute << " stop " << stop);
        ValueModel model(sketch_value_config(),
                         {.autocast = autocast, .gradient_checkpointing = recompute, .stop_gradient_to_vlm = stop});
        set_trainable(model, false, false);
        const Found real = real_value_step(model);
        const Found imagined = imagined_step(model);
        EXPECT_EQ(imagined.gradients, real.gradients);
        EXPECT_NEAR(imagined.kept, real.kept, 0.05 * real.kept);
        EXPECT_NEAR(imagined.peak, real.peak, 0.08 * real.peak);
      }
    }
  }
}

}  // namespace
}  // namespace flexor::models
