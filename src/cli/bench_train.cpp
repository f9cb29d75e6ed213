#include <ostream>

#include "cli/bench_config.h"
#include "cli/bench_stats.h"
#include "cli/bench_steps.h"
#include "cli/commands.h"
#include "cli/threads.h"
#include "config/command_line.h"
#include "device/device.h"
#include "tensor/tensor.h"
#include "train/train.h"

namespace flexor::cli {
namespace {

struct BenchTrainOptions {
  BenchSource source;
  std::optional<std::string> master_dtype;
  std::optional<int64_t> lora_r;
  int64_t steps = 5, warmup = 1;
  bool gradient_checkpointing = false, json = false;
};

void fields(config::FieldTable& table, BenchTrainOptions& o) {
  fields(table, o.source);
  table("master_dtype", o.master_dtype,
        "of the copy that bfloat16 weights are updated in; default without a configuration: none, as LeRobot")
      .choices({"none", "float32"});
  table("lora_r", o.lora_r, "rank of LoRA adapters; 0: every parameter is trained").range(0, 4096);
  table("gradient_checkpointing", o.gradient_checkpointing, "recompute activations in the backward pass");
  table("steps", o.steps, "training steps to measure").range(1, 1e6);
  table("warmup", o.warmup, "training steps before that").range(0, 1e6);
  table("json", o.json, "print one JSON object instead of text");
}

/// Without a configuration: the policy's preset in a run of 30000 steps, bfloat16 weights updated in place.
train::RunPlan make_plan(const BenchTrainOptions& options) {
  std::vector<std::string> keys;
  if (options.master_dtype) {
    keys.push_back("optimizer.master_dtype=" + *options.master_dtype);
  }
  if (options.lora_r) {
    keys.push_back(*options.lora_r > 0 ? "lora.enable=true" : "lora.enable=false");
  }
  if (options.lora_r.value_or(0) > 0) {
    keys.push_back("lora.r=" + std::to_string(*options.lora_r));
  }
  if (options.gradient_checkpointing) {
    keys.emplace_back("policy.gradient_checkpointing=true");
  }
  return bench_plan(options.source, std::move(keys), {"steps=30000", "optimizer.master_dtype=none"});
}

/// 0 without adapters, null for the rank of the style.
Json lora_rank(const train::LoraSection& lora) {
  if (!lora.enable) {
    return 0;
  }
  return lora.r ? Json(*lora.r) : Json();
}

Json workload(const train::TrainConfig& config, const train::TrainerParts& run, const BenchTrainOptions& options) {
  const schema::PolicyConfig& policy = config.policy.config;
  return Json::object({{"bench", "train"},
                       {"policy", config.policy.path},
                       {"type", policy.type},
                       {"batch", config.batch_size * run.config.accumulation},
                       {"accumulation", run.config.accumulation},
                       {"master_dtype", policy.dtype == "bfloat16" ? config.optimizer.master_dtype : "none"},
                       {"attention", config.attention.impl},
                       {"device", device::current().str()},
                       {"lora_r", lora_rank(config.lora)},
                       {"ema", config.ema.enable},
                       {"gradient_checkpointing", policy.gradient_checkpointing},
                       {"warmup", options.warmup}});
}

int64_t count_params(const optim::AdamW& optimizer, bool trained_only) {
  int64_t count = 0;
  for (const optim::Slot& slot : optimizer.slots()) {
    count += !trained_only || slot.param.requires_grad() ? slot.param.numel() : 0;
  }
  return count;
}

int run_bench_train(const Args& args, const Io& io) {
  const auto options = config::parse<BenchTrainOptions>(args);
  const train::RunPlan plan = make_plan(options);
  const Stopwatch opening;
  train::TrainerParts run = train::open_run(plan);
  const double open_s = opening.wall_s();
  const StepTimings measured = measure_steps(run, options.warmup, options.steps);
  const Json result =
      Json::object({{"workload", workload(plan.config, run, options)},
                    {"step_s", summary(measured.steps.wall_s)},
                    {"step_cpu_s", summary(measured.steps.cpu_s)},
                    {"forward_s", median(measured.forward_s)},
                    {"backward_s", median(measured.backward_s)},
                    {"optimizer_s", median(measured.optimizer_s)},
                    {"data_s", median(measured.data_s)},
                    {"losses", Json(measured.losses)},
                    {"samples_per_s", static_cast<double>(measured.samples) / median(measured.steps.wall_s)},
                    {"params", count_params(*run.optimizer, /*trained_only=*/false)},
                    {"params_trained", count_params(*run.optimizer, /*trained_only=*/true)},
                    {"open_s", open_s},
                    {"peak_rss_gib", peak_rss_gib()},
                    {"threads", get_threads()},
                    {"dtype", plan.config.policy.config.dtype}});
  print_bench(io.out, result, options.json);
  return 0;
}

}  // namespace

const Command kBenchTrain{
    .path = "bench train",
    .summary = "Measure training steps.",
    .notes =
        "With --policy and --batch: the policy's optimizer preset, clipping and the learning rates of the first steps "
        "of 30000; noise\nand time come from the batch, so `losses` say whether two programs did the same work. With "
        "--config or keys: the steps that\n`flexor train` would take with them. `open_s` is the time until the first "
        "step can start.\n",
    .usage = &config::usage<BenchTrainOptions>,
    .run = &run_bench_train};

}  // namespace flexor::cli
