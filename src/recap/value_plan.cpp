#include "recap/value_plan.h"

#include <algorithm>

#include "base/str_cat.h"
#include "models/value_weights.h"
#include "recap/camera_slots.h"
#include "recap/value_setup.h"
#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

/// The model of the step, with what is trained marked; parameters take memory only when they are written.
std::unique_ptr<models::ValueModel> planned_value_model(const ValueStep& step) {
  const ValueModelSection& section = step.actor.model;
  models::ValueConfig config = value_config(section);
  if (section.model_path.empty()) {
    require_weights(section);
  } else if (const auto stored = models::find_value_config(section.model_path)) {
    config.architecture = stored->architecture;
  }
  auto model = std::make_unique<models::ValueModel>(
      config, models::ValueOptions{.autocast = section.precision == "bf16",
                                   .gradient_checkpointing = step.actor.fsdp_config.gradient_checkpointing,
                                   .stop_gradient_to_vlm = section.stop_gradient_to_vlm});
  models::set_trainable(*model, section.freeze_vision_encoder, section.freeze_vlm);
  return model;
}

std::vector<std::pair<std::string, ValueStep>> changed_steps(const ValueStep& step) {
  std::vector<std::pair<std::string, ValueStep>> all;
  const auto add = [&](bool is_new, const char* what, auto change) {
    if (is_new) {
      change(all.emplace_back(what, step).second);
    }
  };
  add(step.actor.micro_batch_size > 1, "actor.micro_batch_size=1", [](ValueStep& s) { s.actor.micro_batch_size = 1; });
  add(!step.actor.fsdp_config.gradient_checkpointing, "actor.fsdp_config.gradient_checkpointing=true",
      [](ValueStep& s) { s.actor.fsdp_config.gradient_checkpointing = true; });
  add(step.actor.model.precision != "bf16", "actor.model.precision=bf16",
      [](ValueStep& s) { s.actor.model.precision = "bf16"; });
  add(!step.actor.model.freeze_vision_encoder, "actor.model.freeze_vision_encoder=true",
      [](ValueStep& s) { s.actor.model.freeze_vision_encoder = true; });
  add(!step.actor.model.stop_gradient_to_vlm, "actor.model.stop_gradient_to_vlm=true",
      [](ValueStep& s) { s.actor.model.stop_gradient_to_vlm = true; });
  return all;
}

int64_t value_micro_batches(const ValueStep& step, int64_t world) {
  return std::max<int64_t>(1, step.actor.global_batch_size / step.actor.micro_batch_size / world);
}

}  // namespace

models::BatchShape value_batch_shape(const ValueStep& step) {
  return {.batch_size = step.actor.micro_batch_size,
          .cameras = static_cast<int64_t>(std::size(kSlots)),
          .prompt_tokens = step.actor.model.max_token_len,
          .has_padding = true,
          .float_pictures = step.data.do_augment};
}

train::MemoryPlan plan_value(const ValueStep& step, const models::BatchShape& batch, int64_t world,
                             int64_t ranks_of_node) {
  return plan_value(*planned_value_model(step), step, batch, world, ranks_of_node);
}

train::MemoryPlan plan_value(models::ValueModel& model, const ValueStep& step, const models::BatchShape& batch,
                             int64_t world, int64_t ranks_of_node) {
  const std::string& sharding = step.actor.fsdp_config.sharding_strategy;
  constexpr double kBatchesAhead = 3;  // in work and ready, beside the one that is computed
  const train::MemorySetup setup{.micro_batches = value_micro_batches(step, world),
                                 .strategy = world == 1 ? "none" : sharding,
                                 .world = world,
                                 .ranks_per_copy = ranks_of_node,
                                 .has_masters = false,  // the weights are float32 themselves
                                 .batch_bytes = (1 + kBatchesAhead) * models::batch_bytes(model.config(), batch),
                                 .program_bytes = train::kProgramBytes};
  return train::plan_memory(
      train::parts_of(model), [&](models::MemoryTape& tape) { return models::sketch_loss(model, batch, tape); }, setup);
}

train::PlanReport report_value_plan(const ValueStep& step, int64_t world, double memory, int64_t ranks_of_node) {
  train::PlanReport report{.model = str_cat("recap value model, ", step.actor.model.precision),
                           .strategy = step.actor.fsdp_config.sharding_strategy,
                           .batch = value_batch_shape(step),
                           .micro_batches = value_micro_batches(step, world),
                           .world = world,
                           .plan = {},
                           .largest_batch = 0,
                           .changes = {}};
  report.plan = plan_value(step, report.batch, world, ranks_of_node);
  report.largest_batch = train::largest_batch(
      [&](int64_t batch_size) {
        models::BatchShape shape = report.batch;
        shape.batch_size = batch_size;
        return plan_value(step, shape, world, ranks_of_node).total();
      },
      memory);
  if (memory > 0 && report.plan.total() > memory) {
    for (const auto& [what, changed] : changed_steps(step)) {
      report.changes.push_back({what, plan_value(changed, value_batch_shape(changed), world, ranks_of_node)});
    }
  }
  return report;
}

}  // namespace flexor::recap
