#include <ATen/ops/std.h>
#include <ostream>

#include "base/log.h"
#include "cli/bench_config.h"
#include "cli/bench_stats.h"
#include "cli/commands.h"
#include "cli/policy_folder.h"
#include "cli/threads.h"
#include "config/command_line.h"
#include "models/flow_time.h"
#include "models/open_model.h"
#include "schema/batch_file.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"

namespace flexor::cli {
namespace {

struct Options {
  BenchFlags source;
  std::optional<int64_t> num_steps;
  int64_t steps = 10, warmup = 1, seed = 0;
  bool json = false;
};

void fields(config::FieldTable& table, Options& o) {
  table("policy", o.source.policy, "folder with config.json and model.safetensors").value_name("DIR");
  table("batch", o.source.batch, "safetensors file of model-side tensors").value_name("FILE");
  table("config", o.source.config, "instead: policy.path, batch_file and dtype of this training configuration")
      .value_name("FILE");
  table.rest("key=value", o.source.overrides, "with --config: keys over the file");
  table("dtype", o.source.dtype, "default: as config.json says").choices({"float32", "bfloat16", "bfloat16_autocast"});
  table("threads", o.source.threads, "0: LibTorch's choice").range(0, 1024);
  table("steps", o.steps, "action chunks to measure").range(1, 1e6);
  table("warmup", o.warmup, "action chunks before that").range(0, 1e6);
  table("num_steps", o.num_steps, "Euler steps; default: num_inference_steps of the policy").range(1, 1000);
  table("seed", o.seed, "of the noise when the batch has neither sample_noise nor noise");
  table("json", o.json, "print one JSON object instead of text");
}

Tensor start_noise(const schema::BatchFile& file, const schema::PolicyConfig& config, int64_t seed) {
  for (const char* name : {"sample_noise", "noise"}) {
    if (file.has(name)) {
      return file.at(name);
    }
  }
  at::Generator generator = make_generator(static_cast<uint64_t>(seed));
  return models::sample_noise(file.batch.size(), config, generator);
}

int run(const Args& args, const Io& io) {
  auto options = config::parse<Options>(args);
  complete(options.source);
  set_threads(options.source.threads);
  const at::NoGradGuard no_gradients;
  const schema::BatchFile file = schema::read_batch_file(options.source.batch);
  const Stopwatch opening;
  const auto model = models::open_model(policy_folder(options.source.policy), options.source.dtype);
  const double open_s = opening.wall_s();
  const schema::PolicyConfig& config = model->config();
  const models::SampleOptions sampling{.num_steps = options.num_steps.value_or(config.num_inference_steps),
                                       .rtc = std::nullopt};
  const Tensor noise = start_noise(file, config, options.seed);
  Timings timings;
  Tensor actions;
  for (int64_t i = 0; i < options.warmup + options.steps; ++i) {
    const Stopwatch watch;
    actions = model->sample(file.batch, noise, sampling);
    if (i >= options.warmup) {
      watch.stop(timings);
    }
  }
  actions = actions.narrow(-1, 0, config.action_dim());
  const int64_t batch_size = file.batch.size();
  const Json result = Json::object({{"workload", Json::object({{"bench", "sample"},
                                                               {"policy", options.source.policy},
                                                               {"type", config.type},
                                                               {"batch", batch_size},
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
                                    {"dtype", options.source.dtype.value_or(config.dtype)}});
  io.out << bench_text(result, options.json);
  return 0;
}

}  // namespace

const Command kBenchSample{
    .path = "bench sample",
    .summary = "Measure the latency of sampling an action chunk.",
    .notes =
        "Model-side tensors go in, actions [B, T, A] come out; `out_mean` and `out_std` say whether two programs did "
        "the same work.\n",
    .usage = &config::usage<Options>,
    .run = &run};

}  // namespace flexor::cli
