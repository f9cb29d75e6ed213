#include "models/value_weights.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "models/key_map.h"
#include "nn/named_params.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "tensor/torch_file.h"

namespace flexor::models {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPool = "vision_model.head.";

std::vector<std::string> files_with(const std::string& folder, std::string_view extension) {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == extension) {
      files.push_back(entry.path().string());
    }
  }
  std::ranges::sort(files);
  return files;
}

std::vector<NamedTensor> read_all(const std::vector<std::string>& files) {
  std::vector<NamedTensor> tensors;
  for (const std::string& file : files) {
    std::vector<NamedTensor> part = read_tensor_file(file);
    tensors.insert(tensors.end(), part.begin(), part.end());
  }
  return tensors;
}

/// Tensors that nothing reads: tied or unused heads, a constant of the head, ids of positions.
bool is_ignored(std::string_view name) {
  return name.ends_with("lm_head.weight") || name == "value_head.atoms" || name.ends_with("position_ids");
}

template <typename Owner>
NamedParams collect(Owner& owner) {
  NamedParams list;
  nn::for_each_param(owner,
                     [&](const std::string& name, Tensor& parameter) { list.params.emplace_back(name, &parameter); });
  return list;
}

/// Removes `prefix` from the names that have it and drops all others.
std::vector<NamedTensor> below(const std::vector<NamedTensor>& tensors, std::string_view prefix) {
  std::vector<NamedTensor> kept;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(prefix)) {
      kept.emplace_back(name.substr(prefix.size()), tensor);
    }
  }
  return kept;
}

bool any_below(const std::vector<NamedTensor>& tensors, std::string_view prefix) {
  return std::ranges::any_of(tensors, [&](const NamedTensor& t) { return t.first.starts_with(prefix); });
}

void refuse_unknown(const NamedParams& target, const std::vector<NamedTensor>& tensors, const std::string& path,
                    const std::string& hint) {
  std::vector<std::string> unknown;
  for (const NamedTensor& tensor : tensors) {
    const std::string& name = tensor.first;
    const bool known = std::ranges::any_of(target.params, [&name](const auto& p) { return p.first == name; });
    if (!known && !is_ignored(name)) {
      unknown.push_back(name);
    }
  }
  const auto is_policy = [](const std::string& name) { return name.find("action_out_proj") != std::string::npos; };
  if (std::ranges::any_of(unknown, is_policy)) {
    throw Error(ErrorKind::kCheckpoint, "the weights are a policy's, expected a value model's", path,
                "flexor recap value makes value models: OUTPUT_DIR/checkpoints/best");
  }
  if (!unknown.empty()) {
    throw Error(ErrorKind::kCheckpoint, list_names(unknown, "tensors have no place in the value model"), path, hint);
  }
}

std::string folder_of(const std::string& path) {
  return fs::is_directory(path) ? path : fs::path(path).parent_path().string();
}

Tensor normal(const Tensor& like, double deviation, at::Generator& generator) {
  return at::empty(like.sizes(), at::kFloat).normal_(0.0, deviation, generator);
}

double fan_in(const Tensor& weight) {
  return static_cast<double>(weight.numel() / weight.size(0));
}

/// In float32, at an address that memory of PyTorch's own has: the last bits of a BLAS's products depend on it, and a
/// resumed run must end with those of one that was never stopped.
Tensor aligned(const Tensor& stored) {
  constexpr uintptr_t kAlignment = 64;
  const Tensor value = stored.to(at::kFloat).contiguous();
  return reinterpret_cast<uintptr_t>(value.const_data_ptr()) % kAlignment == 0 ? value : value.clone();
}

/// A fresh backbone parameter.
Tensor backbone_value(const std::string& name, const Tensor& p, at::Generator& generator) {
  const bool is_norm = name.find("norm") != std::string::npos;
  if (is_norm && (name.find("layer_norm") != std::string::npos || name.find("post_layernorm") != std::string::npos ||
                  name.find("head.layernorm") != std::string::npos)) {
    return name.ends_with("weight") ? at::ones(p.sizes()) : at::zeros(p.sizes());
  }
  if (is_norm || p.dim() < 2) {
    return at::zeros(p.sizes());
  }
  const bool is_table = name.find("embed") != std::string::npos && p.dim() == 2;
  return normal(p, 1.0 / std::sqrt(is_table ? static_cast<double>(p.size(1)) : fan_in(p)), generator);
}

template <typename Owner>
void init_backbone(Owner& owner, at::Generator& generator) {
  const at::NoGradGuard no_graph;
  nn::for_each_param(owner, [&](const std::string& name, Tensor& p) { p = backbone_value(name, p, generator); });
}

}  // namespace

std::vector<std::string> find_value_weights(const std::string& path) {
  for (const char* below : {"model_state_dict/full_weights.pt", "actor/model_state_dict/full_weights.pt"}) {
    if (const fs::path file = fs::path(path) / below; fs::is_regular_file(file)) {
      return {file.string()};
    }
  }
  if (fs::is_regular_file(path)) {
    return {path};
  }
  if (!fs::is_directory(path)) {
    throw Error(ErrorKind::kFile, "no such checkpoint of a value model", path);
  }
  for (const char* extension : {".safetensors", ".pt"}) {
    if (auto files = files_with(path, extension); !files.empty()) {
      return files;
    }
  }
  throw Error(ErrorKind::kFile, "no weights: neither full_weights.pt nor *.safetensors nor *.pt", path,
              "give a folder global_step_N of `flexor recap value` or of RLinf");
}

void fill_params(const NamedParams& target, const std::vector<NamedTensor>& tensors, const std::string& optional_part,
                 const std::string& path, const std::string& hint) {
  std::map<std::string, Tensor, std::less<>> by_name(tensors.begin(), tensors.end());
  std::vector<std::string> missing, misshapen, whole;
  for (const auto& [name, parameter] : target.params) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      if (optional_part.empty() || name.find(optional_part) == std::string::npos) {
        missing.push_back(name);
      }
    } else if (found->second.sizes() != parameter->sizes()) {
      misshapen.push_back(
          str_cat(name, " expected ", shape_text(parameter->sizes()), " found ", shape_text(found->second.sizes())));
    } else if (!found->second.is_floating_point()) {
      whole.push_back(str_cat(name, " (", dtype_name(found->second.scalar_type()), ")"));
    }
  }
  std::string what = missing.empty() ? std::string() : list_names(missing, "tensors are missing");
  if (!misshapen.empty()) {
    what += (what.empty() ? "" : "; ") + list_names(misshapen, "tensors have another shape");
  }
  if (!whole.empty()) {
    what += (what.empty() ? "" : "; ") + list_names(whole, "tensors are not of a floating type");
  }
  if (!what.empty()) {
    throw Error(ErrorKind::kCheckpoint, what, path, hint);
  }
  const at::NoGradGuard no_graph;
  for (const auto& [name, parameter] : target.params) {
    const bool trained = parameter->requires_grad();
    const auto found = by_name.find(name);
    *parameter = found == by_name.end() ? at::zeros(parameter->sizes()) : aligned(found->second);
    parameter->set_requires_grad(trained);
  }
}

void load_value_weights(ValueModel& model, const std::string& path) {
  constexpr const char* kHint = "do num_bins, critic_expert_variant, siglip_path and gemma3_path fit the checkpoint?";
  std::vector<NamedTensor> tensors = read_all(find_value_weights(path));
  if (!any_below(tensors, "value_expert.") && any_below(tensors, "model.value_expert.")) {
    tensors = below(tensors, "model.");
  }
  const NamedParams target = collect(model);
  refuse_unknown(target, tensors, path, kHint);
  fill_params(target, tensors, kPool, path, kHint);
}

void load_siglip(VisionTower& vision, const std::string& folder) {
  std::vector<NamedTensor> tensors = read_all(find_value_weights(folder));
  if (any_below(tensors, "vision_tower.vision_model.")) {
    tensors = below(tensors, "vision_tower.");
  }
  fill_params(collect(vision), tensors, kPool, folder,
              "siglip_path names a Hugging Face folder of SigLIP2 (vision_model.*)");
}

void load_gemma3(Gemma3Stack& gemma3, const std::string& folder) {
  std::vector<NamedTensor> tensors = read_all(find_value_weights(folder));
  for (const char* prefix : {"model.language_model.", "language_model.model.", "model."}) {
    if (any_below(tensors, prefix)) {
      tensors = below(tensors, prefix);
      break;
    }
  }
  fill_params(collect(gemma3), tensors, "", folder,
              "gemma3_path names a Hugging Face folder of Gemma3 (model.layers.*)");
}

void init_siglip(VisionTower& vision, at::Generator& generator) {
  init_backbone(vision, generator);
}

void init_gemma3(Gemma3Stack& gemma3, at::Generator& generator) {
  init_backbone(gemma3, generator);
}

void init_value_weights(ValueModel& model, at::Generator& generator) {
  const at::NoGradGuard no_graph;
  constexpr double kDeviation = 0.02;
  ValueNet& net = model.net();
  init_siglip(net.vision, generator);
  init_gemma3(net.gemma3, generator);
  nn::for_each_param(net.expert, [&](const std::string& name, Tensor& p) {
    p = name.find("norm") != std::string::npos ? at::ones(p.sizes()) : normal(p, kDeviation, generator);
  });
  net.multi_modal_proj.weight = normal(net.multi_modal_proj.weight, kDeviation, generator);
  net.multi_modal_proj.bias = at::zeros(net.multi_modal_proj.bias.sizes());
  net.cls_embedding = normal(net.cls_embedding, kDeviation, generator);
  const double bound = 1.0 / std::sqrt(fan_in(net.value_proj.weight));
  for (Tensor* p : {&net.value_proj.weight, &net.value_proj.bias}) {
    *p = at::empty(p->sizes(), at::kFloat).uniform_(-bound, bound, generator);
  }
}

void save_value_weights(ValueModel& model, const std::string& file) {
  std::vector<NamedTensor> tensors;
  nn::for_each_param(
      model, [&](const std::string& name, Tensor& parameter) { tensors.emplace_back(name, parameter.detach()); });
  write_safetensors(file, tensors);
}

std::optional<ValueConfig> find_value_config(const std::string& path) {
  const fs::path file = fs::path(folder_of(path)) / "config.json";
  if (!fs::is_regular_file(file)) {
    return std::nullopt;
  }
  const Json json = Json::read_file(file.string());
  const Json* type = json.find("model_type");
  if (type == nullptr || !type->is_string() || json.find("architecture") == nullptr) {
    return std::nullopt;
  }
  return value_config_from_json(json, file.string());
}

std::unique_ptr<ValueModel> open_value_model(const std::string& path, const ValueConfig& fallback,
                                             const ValueOptions& options) {
  find_value_weights(path);  // a folder that is missing is said first
  auto model = std::make_unique<ValueModel>(find_value_config(path).value_or(fallback), options);
  load_value_weights(*model, path);
  return model;
}

}  // namespace flexor::models
