#include "train/policy_setup.h"

#include <ATen/Context.h>
#include <map>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "device/device.h"
#include "models/init.h"
#include "models/key_map.h"
#include "models/lora.h"
#include "models/memory_need.h"
#include "models/trainable.h"
#include "models/vlm_init.h"
#include "models/weights.h"
#include "nn/named_params.h"
#include "tensor/absent.h"
#include "tensor/file_pages.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"
#include "tensor/torch_file.h"
#include "train/noise.h"
#include "train/sharded_context.h"

namespace flexor::train {

namespace {

models::ComputeOptions compute_options(const TrainConfig& config, const schema::PolicyConfig& policy) {
  return {.exact_savings = true,
          .fused_attention = config.attention.impl == "fused",
          .reference_rope = config.policy.rope_frequencies == "reference",
          .autocast = policy.dtype == "bfloat16_autocast",
          .gradient_checkpointing = policy.gradient_checkpointing};
}

void report(const models::LoadReport& load, const std::string& path) {
  log_info("weights loaded", {{"path", path},
                              {"tensors", load.loaded},
                              {"missing", load.missing.size()},
                              {"unused", load.unused.size()},
                              {"renamed", load.remapped.size()}});
  if (!load.missing.empty()) {
    log_warn("parameters that the checkpoint lacks keep their random start", {{"names", join_text(load.missing, ",")}});
  }
  if (!load.unused.empty()) {
    log_warn("tensors of the checkpoint that the policy has no place for", {{"names", join_text(load.unused, ",")}});
  }
}

void initialise(models::PolicyModel& model, const TrainConfig& config) {
  at::Generator generator =
      make_generator(stream_seed(static_cast<uint64_t>(config.seed), static_cast<uint64_t>(Stream::kInit)));
  models::init_weights(model, generator);
}

/// Weights before the first step of the run.
void start_weights(models::PolicyModel& model, const TrainConfig& config) {
  if (config.policy.path.empty() || config.policy.allow_partial) {
    initialise(model, config);
  }
  if (!config.policy.path.empty()) {
    report(models::load_weights(model, config.policy.path, {.allow_partial = config.policy.allow_partial}),
           config.policy.path);
  } else if (!config.policy.vlm_path.empty()) {
    report(models::load_vlm(model, config.policy.vlm_path), config.policy.vlm_path);
  }
}

void attach_lora(models::PolicyModel& model, const TrainConfig& config) {
  at::Generator generator =
      make_generator(stream_seed(static_cast<uint64_t>(config.seed), static_cast<uint64_t>(Stream::kLora)));
  const auto layers = models::add_lora(
      model,
      {.style = config.lora.style, .r = config.lora.r, .alpha = config.lora.alpha, .targets = config.lora.targets},
      generator);
  log_info("low-rank adapters added", {{"layers", layers.size()}, {"style", config.lora.style}});
}

/// The same, with what is trained marked; adapters come later.
std::unique_ptr<models::PolicyModel> trained_model(const TrainConfig& config, const schema::PolicyConfig& policy) {
  auto model = empty_model(config, policy);
  if (!config.lora.enable) {
    models::set_trainable(*model);
  }
  return model;
}

models::StepShape step_shape(const TrainConfig& config, int64_t world) {
  return {.batch_size = config.batch_size,
          .has_masters = config.optimizer.master_dtype == "float32",
          .has_ema = config.ema.enable,
          .state_ranks = is_sharded(config.parallel.strategy) ? world : 1,
          .from_scratch = config.policy.path.empty()};
}

}  // namespace

std::unique_ptr<models::PolicyModel> empty_model(const TrainConfig& config, schema::PolicyConfig policy) {
  const models::ComputeOptions compute = compute_options(config, policy);
  policy.dtype = policy.dtype == "bfloat16_autocast" ? "float32" : policy.dtype;
  at::Context& context = at::globalContext();  // deterministic=true would write to all of it
  const bool fills = context.deterministicFillUninitializedMemory();
  context.setDeterministicFillUninitializedMemory(false);
  auto model = models::make_policy(policy, compute);
  context.setDeterministicFillUninitializedMemory(fills);
  return model;
}

void check_memory(const TrainConfig& config, const schema::PolicyConfig& policy, int64_t world) {
  models::StepShape shape = step_shape(config, world);
  const auto model = trained_model(config, policy);
  if (const auto memory = device::memory(); memory && memory->free > 0) {
    shape.from_scratch = true;  // weights are copies there
    models::check_training_memory(*model, shape, static_cast<double>(memory->free), device::current().str());
  } else {
    models::check_training_memory(*model, shape);
  }
}

double least_memory(const TrainConfig& config, const schema::PolicyConfig& policy, int64_t world) {
  return models::min_training_bytes(*trained_model(config, policy), step_shape(config, world));
}

std::string check_weights(const RunPlan& plan, const schema::PolicyConfig& policy) {
  const std::string& vlm = plan.config.policy.vlm_path;
  const std::string folder = plan.checkpoint ? plan.checkpoint->pretrained() : plan.config.policy.path;
  if (!folder.empty()) {
    models::load_weights(*empty_model(plan.config, policy), folder,
                         {.allow_partial = plan.config.policy.allow_partial && !plan.checkpoint, .check_only = true});
    return models::weights_file(folder);
  }
  if (!vlm.empty()) {
    read_tensor_file(models::weights_file(vlm));
    return models::weights_file(vlm);
  }
  return {};
}

std::unique_ptr<models::PolicyModel> build_model(const RunPlan& plan, const schema::PolicyConfig& policy) {
  auto model = empty_model(plan.config, policy);
  if (plan.checkpoint && !plan.config.lora.enable) {
    report(models::load_weights(*model, plan.checkpoint->pretrained()), plan.checkpoint->pretrained());
  } else {
    start_weights(*model, plan.config);
  }
  models::set_trainable(*model);
  if (plan.config.lora.enable) {
    attach_lora(*model, plan.config);
  }
  nn::move_params(*model, device::current());
  return model;
}

void sharpen_masters(optim::AdamW& optimizer, const std::string& weights_path, bool is_pi05) {
  const at::NoGradGuard no_graph;
  std::map<std::string, Tensor> exact;
  for (const auto& [key, tensor] : read_tensor_file(models::weights_file(weights_path))) {
    const models::MappedKey mapped = models::map_policy_key(key, is_pi05);
    if (!mapped.skipped && tensor.scalar_type() == at::kFloat) {
      exact[mapped.name] = tensor;
    }
  }
  for (optim::Slot& slot : optimizer.slots()) {
    const auto found = exact.find(slot.name);
    if (slot.master.defined() && found != exact.end()) {
      slot.master.copy_(slot.share_of(found->second));
      forget_file_pages(found->second);
    }
  }
}

namespace {

/// In another dtype; a tensor that is absent stays so.
Tensor cast_when_read(const Tensor& tensor, at::ScalarType dtype) {
  if (!is_absent(tensor)) {
    return tensor.to(dtype);
  }
  return absent_tensor(tensor.sizes(), tensor.options().dtype(dtype),
                       [tensor, dtype](int64_t, int64_t) { return present(tensor).to(dtype).view({-1}); });
}

}  // namespace

SwappedParams::SwappedParams(models::PolicyModel& model, const std::vector<std::pair<std::string, Tensor>>& replacement)
    : model_(model) {
  std::map<std::string, Tensor> by_name(replacement.begin(), replacement.end());
  nn::for_each_param(model_, [&](const std::string& name, Tensor& parameter) {
    if (const auto found = by_name.find(name); found != by_name.end()) {
      originals_.emplace_back(name, parameter);
      parameter = cast_when_read(found->second, parameter.scalar_type());
    }
  });
}

SwappedParams::~SwappedParams() {
  size_t next = 0;
  nn::for_each_param(model_, [&](const std::string& name, Tensor& parameter) {
    if (next < originals_.size() && originals_[next].first == name) {
      parameter = originals_[next++].second;
    }
  });
}

}  // namespace flexor::train
