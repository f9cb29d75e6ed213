#include "models/lora.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/str_cat.h"
#include "nn/linear.h"
#include "nn/named_params.h"
#include "tensor/tensor.h"

namespace flexor::models {
namespace {

constexpr std::string_view kExpert = "paligemma_with_expert.gemma_expert.";
constexpr std::string_view kLanguageModel = "paligemma_with_expert.paligemma.model.language_model.";

bool ends_with_part(std::string_view name, std::string_view end) {
  return name == end || (name.size() > end.size() && name.ends_with(end) && name[name.size() - end.size() - 1] == '.');
}

bool in_layers(std::string_view name) {
  return name.find(".layers.") != std::string_view::npos;
}

/// LeRobot's default list names pi0's time projections for pi0.5 too, so that pi0.5's own stay unadapted.
bool is_lerobot_target(std::string_view name) {
  if (name.starts_with(kExpert)) {
    return ends_with_part(name, "self_attn.q_proj") || ends_with_part(name, "self_attn.v_proj");
  }
  return name == "state_proj" || name == "action_in_proj" || name == "action_out_proj" ||
         name == "action_time_mlp_in" || name == "action_time_mlp_out";
}

bool is_openpi_target(std::string_view name) {
  return in_layers(name) && (name.starts_with(kExpert) || name.starts_with(kLanguageModel)) && !name.ends_with("dense");
}

class Attacher {
 public:
  Attacher(const LoraOptions& options, at::Generator& generator)
      : options_(options), generator_(generator), openpi_(options.style == "openpi") {
    if (!openpi_ && options.style != "lerobot") {
      throw Error(ErrorKind::kConfig, "unknown style '" + options.style + "'", "lora.style", "lerobot or openpi");
    }
    if (options.r.value_or(1) < 1) {
      throw Error(ErrorKind::kConfig, str_cat("rank ", *options.r, " is below 1"), "lora.r");
    }
  }

  void visit(const std::string& name, nn::Linear& layer) {
    bool wanted = options_.targets.empty() && (openpi_ ? is_openpi_target(name) : is_lerobot_target(name));
    for (const std::string& target : options_.targets) {
      if (ends_with_part(name, target)) {
        wanted = true;
        matched_.insert(target);
      }
    }
    if (wanted) {
      attach(layer, name.starts_with(kExpert) ? 32 : 16);
      names_.push_back(name);
    }
  }

  std::vector<std::string> finish() const {
    for (const std::string& target : options_.targets) {
      if (!matched_.contains(target)) {
        throw Error(ErrorKind::kConfig, "'" + target + "' is the end of no layer's name", "lora.targets",
                    "for example q_proj, v_proj, mlp.up_proj, action_in_proj");
      }
    }
    return names_;
  }

 private:
  void attach(nn::Linear& layer, int64_t openpi_rank) {
    const int64_t r = options_.r.value_or(openpi_ ? openpi_rank : 16), in = layer.weight.size(1),
                  out = layer.weight.size(0);
    const double alpha = options_.alpha.value_or(openpi_ ? static_cast<double>(r) : 8.0);
    layer.lora_a = at::empty({r, in}, at::kFloat);
    layer.lora_b = at::zeros({out, r}, at::kFloat);
    if (openpi_) {
      layer.lora_a.normal_(0.0, 0.01, generator_);
      layer.lora_b.normal_(0.0, 0.01, generator_);
    } else {
      const double bound = 1.0 / std::sqrt(static_cast<double>(in));
      layer.lora_a.uniform_(-bound, bound, generator_);
    }
    layer.lora_a = layer.lora_a.to(layer.weight.device());
    layer.lora_b = layer.lora_b.to(layer.weight.device());
    layer.lora_scale = alpha / static_cast<double>(r);
  }

  const LoraOptions& options_;
  at::Generator& generator_;
  bool openpi_;
  std::set<std::string> matched_;
  std::vector<std::string> names_;
};

/// PEFT trains the adapters alone; openpi freezes the Gemma stacks that have any and leaves the rest as it is.
void freeze(PolicyModel& model, bool openpi, const std::vector<std::string>& adapted) {
  const auto any_in = [&](std::string_view stack) {
    return std::any_of(adapted.begin(), adapted.end(),
                       [&](const std::string& name) { return name.starts_with(stack); });
  };
  const bool expert = any_in(kExpert), language_model = any_in(kLanguageModel);
  nn::for_each_param(model, [&](const std::string& name, Tensor& parameter) {
    const bool adapter = name.ends_with(".lora_A.weight") || name.ends_with(".lora_B.weight");
    const bool frozen =
        !openpi || (expert && name.starts_with(kExpert)) || (language_model && name.starts_with(kLanguageModel));
    if (adapter || frozen) {
      parameter.set_requires_grad(adapter);
    }
  });
}

}  // namespace

std::vector<std::string> add_lora(PolicyModel& model, const LoraOptions& options, at::Generator& generator) {
  Attacher attacher(options, generator);
  nn::for_each_linear(model, [&](const std::string& name, nn::Linear& layer) { attacher.visit(name, layer); });
  std::vector<std::string> names = attacher.finish();
  freeze(model, options.style == "openpi", names);
  return names;
}

}  // namespace flexor::models
