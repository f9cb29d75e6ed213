#include <ostream>
#include <utility>

#include "base/error.h"
#include "cli/bench_config.h"
#include "cli/bench_stats.h"
#include "cli/commands.h"
#include "cli/policy_folder.h"
#include "cli/threads.h"
#include "config/command_line.h"
#include "models/lora.h"
#include "models/open_model.h"
#include "models/trainable.h"
#include "optim/adamw.h"
#include "optim/lr_schedule.h"
#include "schema/batch_file.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"

namespace flexor::cli {
namespace {

constexpr int64_t kScheduleSteps = 30000;  // of the run whose first steps are measured

struct Options {
  BenchFlags source;
  int64_t steps = 5, warmup = 1, lora_r = 0;
  bool gradient_checkpointing = false, json = false;
};

void fields(config::FieldTable& table, Options& o) {
  table("policy", o.source.policy, "folder with config.json and model.safetensors").value_name("DIR");
  table("batch", o.source.batch, "safetensors file of model-side tensors with noise and time").value_name("FILE");
  table("config", o.source.config, "instead: policy.path, batch_file and dtype of this training configuration")
      .value_name("FILE");
  table.rest("key=value", o.source.overrides, "with --config: keys over the file");
  table("dtype", o.source.dtype, "default: as config.json says").choices({"float32", "bfloat16", "bfloat16_autocast"});
  table("master_dtype", o.source.master_dtype,
        "of the copy that bfloat16 weights are updated in; default: none, as LeRobot")
      .choices({"none", "float32"});
  table("lora_r", o.lora_r, "rank of LoRA adapters; 0: every parameter is trained").range(0, 4096);
  table("gradient_checkpointing", o.gradient_checkpointing, "recompute activations in the backward pass");
  table("threads", o.source.threads, "0: LibTorch's choice").range(0, 1024);
  table("steps", o.steps, "training steps to measure").range(1, 1e6);
  table("warmup", o.warmup, "training steps before that").range(0, 1e6);
  table("json", o.json, "print one JSON object instead of text");
}

/// Names and tensors of all parameters, in the optimizer's order.
class Collector : public nn::ParamVisitor {
 public:
  std::vector<std::pair<std::string, Tensor>> params;

 protected:
  void visit(const std::string& name, Tensor& parameter) override { params.emplace_back(name, parameter); }
};

optim::AdamWConfig optimizer_config(const schema::PolicyConfig& policy, const std::string& master_dtype) {
  return {.lr = policy.optimizer_lr,
          .betas = policy.optimizer_betas,
          .eps = policy.optimizer_eps,
          .weight_decay = policy.optimizer_weight_decay,
          .grad_clip_norm = policy.optimizer_grad_clip_norm,
          .master_dtype = master_dtype};
}

optim::LrSchedule make_schedule(const schema::PolicyConfig& policy) {
  optim::ScheduleConfig config;
  config.warmup_steps = policy.scheduler_warmup_steps;
  config.decay_steps = policy.scheduler_decay_steps;
  config.decay_lr = policy.scheduler_decay_lr;
  return {config, policy.optimizer_lr, kScheduleSteps};
}

/// Seconds of the parts of the measured steps, and the losses of all steps.
struct Measured {
  Timings steps;
  std::vector<double> forward_s, backward_s, optimizer_s, losses;
};

Measured measure(models::PolicyModel& model, const schema::BatchFile& file, const Options& options) {
  Collector collector;
  model.params(collector);
  optim::AdamW optimizer(collector.params,
                         optimizer_config(model.config(), options.source.master_dtype.value_or("none")));
  const optim::LrSchedule schedule = make_schedule(model.config());
  const Tensor& noise = file.at("noise");
  const Tensor& time = file.at("time");
  Measured measured;
  for (int64_t i = 0; i < options.warmup + options.steps; ++i) {
    const Stopwatch whole, forward;
    models::LossOutput output = model.loss(file.batch, noise, time);
    const double forward_s = forward.wall_s();
    const Stopwatch backward;
    output.loss.backward();
    const double backward_s = backward.wall_s();
    const Stopwatch update;
    optimizer.collect_grads();
    optimizer.clip_grads();
    optimizer.step(schedule.lr(i));
    optimizer.zero_grad();
    measured.losses.push_back(output.loss.item<double>());
    if (i >= options.warmup) {
      measured.optimizer_s.push_back(update.wall_s());
      measured.forward_s.push_back(forward_s);
      measured.backward_s.push_back(backward_s);
      whole.stop(measured.steps);
    }
  }
  return measured;
}

int64_t count_params(models::PolicyModel& model, bool trained_only) {
  Collector collector;
  model.params(collector);
  int64_t count = 0;
  for (const auto& [name, tensor] : collector.params) {
    count += !trained_only || tensor.requires_grad() ? tensor.numel() : 0;
  }
  return count;
}

int run(const Args& args, const Io& io) {
  auto options = config::parse<Options>(args);
  complete(options.source);
  set_threads(options.source.threads);
  const schema::BatchFile file = schema::read_batch_file(options.source.batch);
  if (!file.batch.action.defined()) {
    throw Error(ErrorKind::kData, "the batch has no tensor 'action'", options.source.batch);
  }
  models::ComputeOptions compute;
  compute.gradient_checkpointing = options.gradient_checkpointing;
  const Stopwatch opening;
  const auto model = models::open_model(policy_folder(options.source.policy), options.source.dtype, compute);
  const double open_s = opening.wall_s();
  models::set_trainable(*model);
  if (options.lora_r > 0) {
    models::LoraOptions lora;
    lora.r = options.lora_r;
    at::Generator generator = make_generator(/*seed=*/0);
    models::add_lora(*model, lora, generator);
  }
  const Measured measured = measure(*model, file, options);
  const int64_t batch_size = file.batch.size();
  const std::string dtype = options.source.dtype.value_or(model->config().dtype);
  const Json result = Json::object(
      {{"workload",
        Json::object({{"bench", "train"},
                      {"policy", options.source.policy},
                      {"type", model->config().type},
                      {"batch", batch_size},
                      {"master_dtype", dtype == "bfloat16" ? options.source.master_dtype.value_or("none") : "none"},
                      {"lora_r", options.lora_r},
                      {"gradient_checkpointing", options.gradient_checkpointing},
                      {"warmup", options.warmup}})},
       {"step_s", summary(measured.steps.wall_s)},
       {"step_cpu_s", summary(measured.steps.cpu_s)},
       {"forward_s", median(measured.forward_s)},
       {"backward_s", median(measured.backward_s)},
       {"optimizer_s", median(measured.optimizer_s)},
       {"data_s", 0.0},
       {"losses", Json(measured.losses)},
       {"samples_per_s", static_cast<double>(batch_size) / median(measured.steps.wall_s)},
       {"params", count_params(*model, /*trained_only=*/false)},
       {"params_trained", count_params(*model, /*trained_only=*/true)},
       {"open_s", open_s},
       {"peak_rss_gib", peak_rss_gib()},
       {"threads", get_threads()},
       {"dtype", dtype}});
  io.out << bench_text(result, options.json);
  return 0;
}

}  // namespace

const Command kBenchTrain{
    .path = "bench train",
    .summary = "Measure training steps on one batch.",
    .notes =
        "The policy's optimizer preset, clipping and the learning rates of the first steps of 30000; noise and time "
        "come from the batch,\nso `losses` say whether two programs did the same work.\n",
    .usage = &config::usage<Options>,
    .run = &run};

}  // namespace flexor::cli
