#include "models/weights.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/str_cat.h"
#include "models/key_map.h"
#include "models/tensor_plan.h"
#include "nn/linear.h"
#include "nn/named_params.h"
#include "tensor/absent.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "tensor/torch_file.h"

namespace flexor::models {
namespace {

constexpr const char* kExpertLmHead = "paligemma_with_expert.gemma_expert.lm_head.weight";

void refuse_partial(const LoadReport& report, const std::string& path) {
  std::string what;
  if (!report.missing.empty()) {
    what = list_names(report.missing, "tensors of the policy are missing");
  }
  if (!report.unused.empty()) {
    what += (what.empty() ? "" : "; ") + list_names(report.unused, "tensors have no place in the policy");
  }
  if (!what.empty()) {
    throw Error(ErrorKind::kCheckpoint, what, path,
                "policy.allow_partial=true keeps the initial values of missing tensors");
  }
}

/// Files may lack the heads that no policy reads: zeros that take no memory.
void fill_lm_heads(TensorPlan& plan, PolicyModel& model) {
  nn::for_each_param(model, [&plan](const std::string& name, Tensor& parameter) {
    if ((name == kLmHead || name == kExpertLmHead) && !plan.filled(name)) {
      plan.add(name, name, at::zeros({1, 1}, parameter.options()).expand(parameter.sizes()));
    }
  });
}

}  // namespace

std::string weights_file(const std::string& path) {
  if (!std::filesystem::is_directory(path)) {
    return path;
  }
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "model_state_dict/full_weights.pt",
                           "actor/model_state_dict/full_weights.pt"}) {
    const auto file = std::filesystem::path(path) / name;
    if (std::filesystem::exists(file)) {
      return file.string();
    }
  }
  throw Error(ErrorKind::kFile, "no model.safetensors and no model.safetensors.index.json", path,
              "give the folder of a checkpoint that holds config.json and its weights (pretrained_model)");
}

LoadReport load_weights(PolicyModel& model, const std::string& path, const LoadOptions& options) {
  const std::string where = weights_file(path);
  const std::vector<NamedTensor> tensors = read_tensor_file(where);
  TensorPlan plan(model);
  LoadReport report;
  std::string head;
  for (const auto& [name, tensor] : tensors) {
    const MappedKey key = map_policy_key(name, model.config().is_pi05());
    if (key.skipped) {
      report.skipped.push_back(name);
      continue;
    }
    head = key.name == kLmHead ? name : head;
    if (!plan.add(key.name, name, tensor)) {
      report.unused.push_back(name);
    } else if (name != key.name && name != "model." + key.name) {
      report.remapped.emplace_back(name, key.name);
    }
  }
  if (!plan.filled(kEmbedding) && !head.empty()) {  // files of tied models keep one name of the two
    plan.add(kEmbedding, head, tensor_of_file(where, head));
    report.remapped.emplace_back(head, kEmbedding);
  }
  fill_lm_heads(plan, model);
  report.missing = plan.missing();
  plan.check_shapes(where);
  if (!options.allow_partial) {
    refuse_partial(report, where);
  }
  report.loaded = options.check_only ? 0 : plan.apply();
  return report;
}

void save_weights(PolicyModel& model, const std::string& path) {
  std::vector<NamedTensor> tensors;
  nn::for_each_param(model, [&](const std::string& name, Tensor& parameter) {
    if (!name.ends_with(".lora_A.weight") && !name.ends_with(".lora_B.weight")) {
      tensors.emplace_back("model." + name, parameter.detach());
    }
  });
  nn::for_each_linear(model, [&](const std::string& name, nn::Linear& layer) {
    if (layer.lora_a.defined()) {
      const auto same = [&](const NamedTensor& tensor) { return tensor.first == "model." + name + ".weight"; };
      std::find_if(tensors.begin(), tensors.end(), same)->second =
          absent_tensor(layer.weight.sizes(), layer.weight.options().requires_grad(false),
                        [&layer](int64_t, int64_t) { return layer.merged().view({-1}); });
    }
  });
  write_safetensors(path, tensors);
}

}  // namespace flexor::models
