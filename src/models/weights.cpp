#include "models/weights.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/str_cat.h"
#include "models/key_map.h"
#include "models/tensor_plan.h"
#include "nn/linear.h"
#include "nn/named_params.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"

namespace flexor::models {
namespace {

constexpr const char* kEmbedding = "paligemma_with_expert.paligemma.model.language_model.embed_tokens.weight";
constexpr const char* kLmHead = "paligemma_with_expert.paligemma.lm_head.weight";

/// "3 missing: a, b, c" with at most eight names.
std::string list_names(const std::vector<std::string>& names, const char* kind) {
  std::string text = str_cat(names.size(), " ", kind, ": ");
  for (size_t i = 0; i < std::min<size_t>(names.size(), 8); ++i) {
    text += (i > 0 ? ", " : "") + names[i];
  }
  return names.size() > 8 ? text + ", ..." : text;
}

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

}  // namespace

std::string weights_file(const std::string& path) {
  if (!std::filesystem::is_directory(path)) {
    return path;
  }
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
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
  const SafetensorsFile file = SafetensorsFile::open(where);
  TensorPlan plan(model);
  LoadReport report;
  for (const auto& entry : file.entries()) {
    const MappedKey key = map_policy_key(entry.name, model.config().is_pi05());
    if (key.skipped) {
      report.skipped.push_back(entry.name);
    } else if (!plan.add(key.name, file, entry.name)) {
      report.unused.push_back(entry.name);
    } else if (entry.name != key.name && entry.name != "model." + key.name) {
      report.remapped.emplace_back(entry.name, key.name);
    }
  }
  // Files of tied models keep one name of the two. A mapping of its own, so that training the embedding leaves lm_head
  // be.
  const auto head = std::find_if(file.entries().begin(), file.entries().end(), [&](const auto& entry) {
    return map_policy_key(entry.name, model.config().is_pi05()).name == kLmHead;
  });
  if (!plan.filled(kEmbedding) && head != file.entries().end()) {
    plan.add(kEmbedding, SafetensorsFile::open(where), head->name);
    report.remapped.emplace_back(head->name, kEmbedding);
  }
  report.missing = plan.missing();
  plan.check_shapes(where);
  if (!options.allow_partial) {
    refuse_partial(report, where);
  }
  report.loaded = plan.apply();
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
      std::find_if(tensors.begin(), tensors.end(), same)->second = layer.merged();
    }
  });
  write_safetensors(path, tensors);
}

}  // namespace flexor::models
