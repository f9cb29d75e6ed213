#include "models/tensor_plan.h"

#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "models/key_map.h"
#include "nn/named_params.h"
#include "tensor/file_pages.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace flexor::models {

TensorPlan::TensorPlan(PolicyModel& model) : model_(model) {
  nn::for_each_param(model, [this](const std::string& name, Tensor& parameter) {
    order_.push_back(name);
    shapes_[name] = parameter.sizes().vec();
  });
}

bool TensorPlan::add(const std::string& parameter, const std::string& key, Tensor tensor) {
  if (!shapes_.contains(parameter)) {
    return false;
  }
  sources_.insert_or_assign(parameter, Source{key, std::move(tensor)});
  return true;
}

std::vector<std::string> TensorPlan::missing() const {
  std::vector<std::string> names;
  for (const std::string& name : order_) {
    if (!filled(name) && !name.ends_with(".lora_A.weight") && !name.ends_with(".lora_B.weight")) {
      names.push_back(name);
    }
  }
  return names;
}

void TensorPlan::check_shapes(const std::string& path) const {
  std::vector<std::string> whole;
  std::string wrong;
  int64_t count = 0;
  for (const std::string& name : order_) {
    const auto source = sources_.find(name);
    if (source == sources_.end()) {
      continue;
    }
    if (!source->second.tensor.is_floating_point()) {
      whole.push_back(str_cat(source->second.key, " (", dtype_name(source->second.tensor.scalar_type()), ")"));
    }
    const auto found = source->second.tensor.sizes();
    const auto& expected = shapes_.find(name)->second;
    if (found != at::IntArrayRef(expected)) {
      wrong += str_cat(wrong.empty() ? "" : "; ", source->second.key, ": expected ", shape_text(expected), ", found ",
                       shape_text(found));
      ++count;
    }
  }
  if (count > 0) {
    throw Error(
        ErrorKind::kCheckpoint, str_cat(count, " tensors do not have the policy's shape: ", wrong), path,
        "do config.json (architecture, variants, max_action_dim, image_resolution) and weights belong together?");
  }
  if (!whole.empty()) {
    throw Error(ErrorKind::kCheckpoint, list_names(whole, "tensors are not of a floating type"), path,
                "weights are float32, bfloat16 or float16: was the file quantised, or damaged?");
  }
}

int64_t TensorPlan::apply() {
  int64_t count = 0;
  nn::for_each_param(model_, [&](const std::string& name, Tensor& parameter) {
    const auto source = sources_.find(name);
    if (source == sources_.end()) {
      return;
    }
    const bool trained = parameter.requires_grad();
    parameter = source->second.tensor.to(parameter.options());
    if (!parameter.is_alias_of(source->second.tensor)) {
      forget_file_pages(source->second.tensor);
    }
    parameter.set_requires_grad(trained);
    ++count;
  });
  return count;
}

}  // namespace flexor::models
