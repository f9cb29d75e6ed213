#include <algorithm>
#include <ostream>
#include <utility>

#include "base/process_memory.h"
#include "cli/bench_stats.h"
#include "cli/commands.h"
#include "cli/threads.h"
#include "config/command_line.h"
#include "device/device.h"
#include "dist/choose_device.h"
#include "models/flow_sketch.h"
#include "models/value_weights.h"
#include "nn/named_params.h"
#include "optim/adamw.h"
#include "recap/camera_slots.h"
#include "recap/categorical.h"
#include "recap/value_setup.h"
#include "tensor/block_pool.h"
#include "tensor/rng.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "train/memory_plan.h"

namespace flexor::cli {
namespace {

struct BenchValueOptions {
  std::string model, batch, precision = "fp32", device = "auto";
  bool inference = false, json = false, gradient_checkpointing = false;
  int64_t batch_size = 16, cameras = 2, prompt_tokens = 16, steps = 5, warmup = 1, threads = 0;
  double lr = 5e-5, value_lr = 1e-4;
};

void fields(config::FieldTable& table, BenchValueOptions& o) {
  table("model", o.model, "checkpoint of a value model").value_name("DIR").required();
  table("batch", o.batch,
        "safetensors file with images.SLOT, image_masks.SLOT, tokenized_prompt, tokenized_prompt_mask and "
        "target_values; empty: random pictures")
      .value_name("FILE");
  table("batch_size", o.batch_size, "of random pictures").range(1, 1e5);
  table("cameras", o.cameras, "of random pictures").range(1, 3);
  table("prompt_tokens", o.prompt_tokens, "of random prompts").range(1, 1e5);
  table("inference", o.inference, "values only, as step 3 computes them; else training steps");
  table("precision", o.precision, "bf16: float32 masters, bfloat16 compute").choices({"fp32", "bf16"});
  table("gradient_checkpointing", o.gradient_checkpointing, "recompute activations in the backward pass");
  table("lr", o.lr, "learning rate").range(0, 1);
  table("value_lr", o.value_lr, "the same of the value head").range(0, 1);
  dist::add_device_flag(table, o.device);
  table("threads", o.threads, "0: LibTorch's choice").range(0, 1024);
  table("steps", o.steps, "steps to measure").range(1, 1e6);
  table("warmup", o.warmup, "steps before that").range(0, 1e6);
  table("json", o.json, "print one JSON object instead of text");
}

struct Workload {
  models::ValueBatch batch;
  Tensor targets;
};

Tensor as_pixels(const Tensor& stored) {
  return stored.scalar_type() == at::kByte ? stored : stored.to(at::kFloat);
}

Workload read_workload(const std::string& path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  Workload work;
  constexpr std::string_view kImages = "images.";
  for (const auto& entry : file.entries()) {
    if (entry.name.starts_with(kImages)) {
      const std::string slot = entry.name.substr(kImages.size());
      const std::string mask = "image_masks." + slot;
      work.batch.cameras.push_back({.name = slot,
                                    .pixels = as_pixels(file.get(entry.name)),
                                    .mask = file.contains(mask) ? file.get(mask).to(at::kBool) : Tensor()});
    }
  }
  work.batch.tokens = file.get("tokenized_prompt").to(at::kLong);
  work.batch.token_mask = file.get("tokenized_prompt_mask").to(at::kBool);
  work.targets = file.get("target_values").to(at::kFloat);
  return work;
}

Workload random_workload(const BenchValueOptions& o, const models::ValueConfig& config) {
  at::Generator generator = make_generator(/*seed=*/0);
  const int64_t B = o.batch_size, S = config.architecture.image_size;
  const int64_t L = std::min(o.prompt_tokens, config.max_token_len);
  Workload work;
  for (int64_t i = 0; i < o.cameras; ++i) {
    const Tensor pixels = at::empty({B, 3, S, S}, at::kFloat).uniform_(0.0, 256.0, generator).to(at::kByte);
    work.batch.cameras.push_back({.name = std::string(recap::kSlots[i]), .pixels = pixels, .mask = {}});
  }
  const auto vocabulary = static_cast<double>(config.architecture.gemma3.vocab_size);
  work.batch.tokens = at::empty({B, L}, at::kFloat).uniform_(1.0, vocabulary, generator).to(at::kLong);
  work.batch.token_mask = at::ones({B, L}, at::kBool);
  work.targets = at::empty({B}, at::kFloat).uniform_(config.v_min, config.v_max, generator);
  return work;
}

Workload on_device(Workload work, const at::Device& device) {
  for (models::ValueCamera& camera : work.batch.cameras) {
    camera.pixels = device::place(camera.pixels, device);
    camera.mask = device::place(camera.mask, device);
  }
  work.batch.tokens = device::place(work.batch.tokens, device);
  work.batch.token_mask = device::place(work.batch.token_mask, device);
  work.targets = device::place(work.targets, device);
  return work;
}

std::unique_ptr<optim::AdamW> make_optimizer(models::ValueModel& model, const BenchValueOptions& o) {
  auto optimizer = std::make_unique<optim::AdamW>(
      nn::named_params(model),
      optim::AdamWConfig{.lr = o.lr, .betas = {0.9, 0.95}, .eps = 1e-8, .weight_decay = 1e-10, .grad_clip_norm = 1.0});
  for (optim::Slot& slot : optimizer->slots()) {
    slot.group = slot.name.starts_with("value_head.") ? 1 : 0;
  }
  return optimizer;
}

/// One training step. @return its loss
double train_step(models::ValueModel& model, optim::AdamW& optimizer, const Workload& work,
                  const BenchValueOptions& o) {
  const models::ValueConfig& config = model.config();
  const Tensor logits = model.logits(work.batch);
  const Tensor loss =
      recap::categorical_losses(logits, work.targets, {config.num_bins, config.v_min, config.v_max}).mean();
  loss.backward();
  optimizer.collect_grads();
  optimizer.clip_grads();
  optimizer.step(std::vector<double>{o.lr, o.value_lr});
  optimizer.zero_grad();
  return loss.item<double>();
}

double inference_step(models::ValueModel& model, const Workload& work) {
  const at::NoGradGuard no_graph;
  return model.values(model.logits(work.batch)).mean().item<double>();
}

double predicted_bytes(models::ValueModel& model, const Workload& work) {
  const models::BatchShape shape = models::shape_of(work.batch);
  return train::plan_memory(
             train::parts_of(model), [&](models::MemoryTape& tape) { return models::sketch_loss(model, shape, tape); },
             {.batch_bytes = models::batch_bytes(model.config(), shape), .program_bytes = train::kProgramBytes})
      .total();
}

int run_bench_value(const Args& args, const Io& io) {
  const auto o = config::parse<BenchValueOptions>(args);
  set_threads(o.threads);
  use_block_pool();
  const models::ValueOptions options{.autocast = o.precision == "bf16",
                                     .gradient_checkpointing = o.gradient_checkpointing};
  const int64_t resident_before = resident_bytes();
  const at::Device device = dist::choose_device(o.device);
  const auto model = models::open_value_model(o.model, recap::value_config({}), options);
  nn::move_params(*model, device);
  models::set_trainable(*model, /*freeze_vision_encoder=*/false, /*freeze_vlm=*/false);
  const Workload work =
      on_device(o.batch.empty() ? random_workload(o, model->config()) : read_workload(o.batch), device);
  const auto optimizer = make_optimizer(*model, o);
  Timings timings;
  std::vector<double> results;
  for (int64_t i = 0; i < o.warmup + o.steps; ++i) {
    const Stopwatch watch;
    results.push_back(o.inference ? inference_step(*model, work) : train_step(*model, *optimizer, work, o));
    if (i >= o.warmup) {
      watch.stop(timings);
    }
  }
  const int64_t batch_size = work.batch.size();
  const Json result =
      Json::object({{"bench", "value"},
                    {"mode", o.inference ? "inference" : "training"},
                    {"model", o.model},
                    {"batch", batch_size},
                    {"precision", o.precision},
                    {"device", device.str()},
                    {"step_s", summary(timings.wall_s)},
                    {"step_cpu_s", summary(timings.cpu_s)},
                    {o.inference ? "mean_values" : "losses", Json(results)},
                    {"samples_per_s", static_cast<double>(batch_size) / median(timings.wall_s)},
                    {"params", nn::count_params(*model)},
                    {"peak_rss_gib", peak_rss_gib()},
                    {"peak_bytes", peak_resident_bytes() - resident_before},
                    {"predicted_peak_bytes", o.inference ? Json() : Json(predicted_bytes(*model, work))},
                    {"threads", get_threads()}});
  print_bench(io.out, result, o.json);
  return 0;
}

}  // namespace

const Command kBenchValue{
    .path = "bench value",
    .summary = "Measure RECAP's value model on one batch.",
    .notes =
        "    flexor bench value --model runs/recap/value/checkpoints/last --inference --batch_size 128\n\n"
        "Training steps with AdamW and clipping, or the values that step 3 computes; pictures are in memory. "
        "bench/peers/value_bench.py\nmakes a model and a batch and runs PyTorch on the same ones.\n",
    .usage = &config::usage<BenchValueOptions>,
    .run = &run_bench_value};

}  // namespace flexor::cli
