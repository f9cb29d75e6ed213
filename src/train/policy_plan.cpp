#include "train/policy_plan.h"

#include <algorithm>

#include "base/error.h"
#include "base/str_cat.h"
#include "models/lora.h"
#include "models/trainable.h"
#include "models/weights.h"
#include "schema/batch_file.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"
#include "tensor/torch_file.h"
#include "train/data_setup.h"
#include "train/policy_setup.h"
#include "train/run_inputs.h"
#include "train/sharded_context.h"

namespace flexor::train {
namespace {

/// What the plan needs of a model: shapes, and what is trained.
std::unique_ptr<models::PolicyModel> planned_model(const TrainConfig& config, const schema::PolicyConfig& policy) {
  auto model = empty_model(config, policy);
  models::set_trainable(*model);
  if (config.lora.enable) {
    at::Generator generator = make_generator(/*seed=*/0);
    models::add_lora(
        *model,
        {.style = config.lora.style, .r = config.lora.r, .alpha = config.lora.alpha, .targets = config.lora.targets},
        generator);
  }
  return model;
}

/// Whether parameters that nothing reads stay in the file that they come from: it has their dtype.
bool leaves_unread_in_file(const TrainConfig& config, const schema::PolicyConfig& policy) {
  if (config.policy.path.empty() || config.policy.allow_partial) {
    return false;
  }
  const at::ScalarType wanted = policy.dtype == "bfloat16" ? at::kBFloat16 : at::kFloat;
  try {
    for (const auto& [name, tensor] : read_tensor_file(models::weights_file(config.policy.path))) {
      if (name.ends_with("lm_head.weight") && tensor.scalar_type() != wanted) {
        return false;
      }
    }
  } catch (const Error&) {  // the check of the weights says what is wrong
    return false;
  }
  return true;
}

/// Batches in memory at once: the one that is computed, and those that the loader has ready or in work.
double held_batches(const TrainConfig& config) {
  return config.batch_file.empty() ? 1.0 + config.num_workers + config.prefetch : 1.0;
}

/// A change that stands for itself, and how to make it.
struct Lever {
  std::string what;
  std::function<void(TrainConfig& config, schema::PolicyConfig& policy, int64_t& world)> pull;
};

std::vector<Lever> levers(const TrainConfig& config, const schema::PolicyConfig& policy, int64_t world) {
  std::vector<Lever> all;
  const auto add = [&](bool is_new, std::string what, auto pull) {
    if (is_new) {
      all.push_back({std::move(what), pull});
    }
  };
  add(config.batch_size > 1, "batch_size=1", [](TrainConfig& c, schema::PolicyConfig&, int64_t&) { c.batch_size = 1; });
  add(!policy.gradient_checkpointing, "policy.gradient_checkpointing=true",
      [](TrainConfig&, schema::PolicyConfig& p, int64_t&) { p.gradient_checkpointing = true; });
  add(policy.dtype == "float32", "policy.dtype=bfloat16",
      [](TrainConfig&, schema::PolicyConfig& p, int64_t&) { p.dtype = "bfloat16"; });
  add(config.optimizer.master_dtype == "float32" && !config.lora.enable,
      "policy.dtype=bfloat16 optimizer.master_dtype=none", [](TrainConfig& c, schema::PolicyConfig& p, int64_t&) {
        p.dtype = "bfloat16";
        c.optimizer.master_dtype = "none";
      });
  add(!config.lora.enable, "lora.enable=true", [](TrainConfig& c, schema::PolicyConfig&, int64_t&) {
    c.lora.enable = true;
    c.ema.enable = false;
  });
  add(!policy.train_expert_only && !config.lora.enable, "policy.train_expert_only=true",
      [](TrainConfig&, schema::PolicyConfig& p, int64_t&) { p.train_expert_only = true; });
  for (const char* strategy : {"zero1", "zero2", "zero3"}) {
    add(world > 1 && config.parallel.strategy != strategy, str_cat("parallel.strategy=", strategy),
        [strategy](TrainConfig& c, schema::PolicyConfig&, int64_t&) { c.parallel.strategy = strategy; });
  }
  const int64_t more = world > 1 ? 2 * world : 2;
  for (const int64_t ranks : {more, 2 * more, 4 * more}) {
    add(true, str_cat("parallel.strategy=zero3 on ", ranks, " ranks"),
        [ranks](TrainConfig& c, schema::PolicyConfig&, int64_t& w) {
          c.parallel.strategy = "zero3";
          w = ranks;
        });
  }
  return all;
}

std::string describe_model(const TrainConfig& config, const schema::PolicyConfig& policy) {
  const std::string masters =
      policy.dtype == "bfloat16" && config.optimizer.master_dtype == "float32" ? " with float32 masters" : "";
  return str_cat(policy.type, ", ", policy.dtype, masters, config.lora.enable ? ", LoRA" : "",
                 config.ema.enable ? ", moving average" : "",
                 policy.gradient_checkpointing ? ", gradient checkpointing" : "", ", attention ",
                 config.attention.impl);
}

}  // namespace

schema::PolicyConfig planned_policy(const RunPlan& plan) {
  if (plan.checkpoint) {
    return resumed_policy(plan);
  }
  if (!plan.config.batch_file.empty()) {
    return plan.config.policy.config;
  }
  return plan.config.policy.fit_to_data ? prepare_inputs(plan).policy
                                        : policy_for_data(plan.config, *open_training_data(plan.config).all);
}

models::BatchShape batch_shape(const TrainConfig& config, const schema::PolicyConfig& policy) {
  models::BatchShape shape{
      .batch_size = config.batch_size,
      .cameras = static_cast<int64_t>(policy.cameras().size()) - policy.empty_cameras,
      .prompt_tokens = policy.tokenizer_max_length,
      .has_padding = true,
      .float_pictures = config.dataset.resize == "float" || config.dataset.image_transforms != "none"};
  if (!config.batch_file.empty()) {
    const int64_t batch_size = shape.batch_size;
    shape = models::shape_of(schema::read_batch_file(config.batch_file).batch);
    shape.batch_size = batch_size;
  }
  return shape;
}

MemoryPlan plan_policy(models::PolicyModel& model, const TrainConfig& config, const schema::PolicyConfig& policy,
                       const models::BatchShape& batch, int64_t world, int64_t ranks_of_node) {
  const MemorySetup setup{.micro_batches = accumulation(config, world),
                          .strategy = config.parallel.strategy,
                          .world = world,
                          .ranks_per_copy = ranks_of_node,
                          .has_masters = config.optimizer.master_dtype == "float32",
                          .has_ema = config.ema.enable,
                          .unread_is_mapped = leaves_unread_in_file(config, policy),
                          .batch_bytes = held_batches(config) * models::batch_bytes(policy, batch),
                          .program_bytes = kProgramBytes};
  return plan_memory(
      parts_of(model), [&](models::MemoryTape& tape) { return models::sketch_loss(model, batch, tape); }, setup);
}

MemoryPlan plan_policy(const TrainConfig& config, const schema::PolicyConfig& policy, const models::BatchShape& batch,
                       int64_t world, int64_t ranks_of_node) {
  return plan_policy(*planned_model(config, policy), config, policy, batch, world, ranks_of_node);
}

int64_t largest_batch(const std::function<double(int64_t)>& bytes_of, double memory) {
  constexpr int64_t kMost = 1 << 16;
  if (memory <= 0 || bytes_of(1) > memory) {
    return 0;
  }
  int64_t fits = 1, too_many = 2;
  while (too_many <= kMost && bytes_of(too_many) <= memory) {
    fits = too_many;
    too_many *= 2;
  }
  while (too_many - fits > 1) {
    const int64_t middle = (fits + too_many) / 2;
    (bytes_of(middle) <= memory ? fits : too_many) = middle;
  }
  return fits;
}

PlanReport report_policy_plan(const TrainConfig& config, const schema::PolicyConfig& policy, int64_t world,
                              double memory, int64_t ranks_of_node) {
  PlanReport report{.model = describe_model(config, policy),
                    .strategy = config.parallel.strategy,
                    .batch = batch_shape(config, policy),
                    .micro_batches = accumulation(config, world),
                    .world = world,
                    .plan = {},
                    .largest_batch = 0,
                    .changes = {}};
  const auto model = planned_model(config, policy);
  report.plan = plan_policy(*model, config, policy, report.batch, world, ranks_of_node);
  const auto bytes_of = [&](int64_t batch_size) {
    models::BatchShape shape = report.batch;
    shape.batch_size = batch_size;
    return plan_policy(*model, config, policy, shape, world, ranks_of_node).total();
  };
  report.largest_batch = largest_batch(bytes_of, memory);
  if (memory <= 0 || report.plan.total() <= memory) {
    return report;
  }
  for (const Lever& lever : levers(config, policy, world)) {
    TrainConfig changed = config;
    schema::PolicyConfig changed_policy = policy;
    int64_t ranks = world;
    lever.pull(changed, changed_policy, ranks);
    changed.global_batch_size.reset();
    models::BatchShape shape = report.batch;
    shape.batch_size = changed.batch_size;
    report.changes.push_back({lever.what, plan_policy(changed, changed_policy, shape, ranks, ranks_of_node)});
  }
  return report;
}

}  // namespace flexor::train
