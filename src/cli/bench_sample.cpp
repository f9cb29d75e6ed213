#include <ATen/ops/std.h>
#include <ostream>

#include "base/error.h"
#include "cli/bench_config.h"
#include "cli/bench_stats.h"
#include "cli/commands.h"
#include "cli/start_noise.h"
#include "cli/threads.h"
#include "config/command_line.h"
#include "device/device.h"
#include "dist/choose_device.h"
#include "tensor/tensor.h"
#include "train/policy_setup.h"

namespace flexor::cli {
namespace {

struct BenchSampleOptions {
  BenchSource source;
  std::optional<int64_t> num_steps;
  int64_t steps = 10, warmup = 1, seed = 0;
  bool json = false;
};

void fields(config::FieldTable& table, BenchSampleOptions& o) {
  fields(table, o.source);
  table("steps", o.steps, "action chunks to measure").range(1, 1e6);
  table("warmup", o.warmup, "action chunks before that").range(0, 1e6);
  table("num_steps", o.num_steps, "Euler steps; default: num_inference_steps of the policy").range(1, 1000);
  table("seed", o.seed, "of the noise when the batch has neither sample_noise nor noise");
  table("json", o.json, "print one JSON object instead of text");
}

train::RunPlan make_plan(const BenchSampleOptions& options) {
  train::RunPlan plan = bench_plan(options.source, {"batch_size=1"}, {});  // given, so that no 'action' is asked for
  if (plan.config.batch_file.empty()) {
    throw Error(ErrorKind::kUsage, "no batch was given", {}, "--batch FILE or batch_file=FILE");
  }
  plan.config.lora.enable = false;  // checkpoints hold merged weights: policies are sampled without adapters
  return plan;
}

int run_bench_sample(const Args& args, const Io& io) {
  const auto options = config::parse<BenchSampleOptions>(args);
  const train::RunPlan plan = make_plan(options);
  const schema::PolicyConfig& config = plan.config.policy.config;
  set_threads(plan.config.threads);
  const at::NoGradGuard no_gradients;
  const schema::BatchFile file = schema::read_batch_file(plan.config.batch_file);
  const Stopwatch opening;
  const at::Device device = dist::choose_device(plan.config.device);
  const schema::Batch batch = schema::on_device(file.batch, device);
  const auto model = train::build_model(plan, config);
  const double open_s = opening.wall_s();
  const models::SampleOptions sampling{.num_steps = options.num_steps.value_or(config.num_inference_steps),
                                       .rtc = std::nullopt};
  const Tensor noise = device::place(start_noise(file, config, options.seed), device);
  Timings timings;
  Tensor actions;
  for (int64_t i = 0; i < options.warmup + options.steps; ++i) {
    const Stopwatch watch;
    actions = model->sample(batch, noise, sampling).cpu();
    if (i >= options.warmup) {
      watch.stop(timings);
    }
  }
  actions = actions.narrow(-1, 0, config.action_dim());
  const int64_t batch_size = file.batch.size();
  const Json result = Json::object({{"workload", Json::object({{"bench", "sample"},
                                                               {"policy", plan.config.policy.path},
                                                               {"type", config.type},
                                                               {"batch", batch_size},
                                                               {"attention", plan.config.attention.impl},
                                                               {"device", device.str()},
                                                               {"num_steps", sampling.num_steps},
                                                               {"warmup", options.warmup}})},
                                    {"latency_s", summary(timings.wall_s)},
                                    {"latency_cpu_s", summary(timings.cpu_s)},
                                    {"samples_per_s", static_cast<double>(batch_size) / median(timings.wall_s)},
                                    {"out_mean", actions.mean().item<double>()},
                                    {"out_std", at::std(actions, /*unbiased=*/true).item<double>()},
                                    {"open_s", open_s},
                                    {"peak_rss_gib", peak_rss_gib()},
                                    {"threads", get_threads()},
                                    {"dtype", config.dtype}});
  print_bench(io.out, result, options.json);
  return 0;
}

}  // namespace

const Command kBenchSample{
    .path = "bench sample",
    .summary = "Measure the latency of sampling an action chunk.",
    .notes =
        "Model-side tensors go in, actions [B, T, A] come out; `out_mean` and `out_std` say whether two programs did "
        "the same work. Of a\ntraining configuration the policy's keys, attention.impl, batch_file, threads and seed "
        "count; adapters of LoRA are not added,\nsince checkpoints hold the merged weights.\n",
    .usage = &config::usage<BenchSampleOptions>,
    .run = &run_bench_sample};

}  // namespace flexor::cli
