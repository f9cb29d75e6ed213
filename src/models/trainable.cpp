#include "models/trainable.h"

#include <string>

#include "nn/named_params.h"
#include "tensor/tensor.h"

namespace flexor::models {

void set_trainable(PolicyModel& model) {
  const schema::PolicyConfig& config = model.config();
  nn::for_each_param(model, [&](const std::string& name, Tensor& parameter) {
    const bool unused = name.ends_with("lm_head.weight");
    const bool vision = name.find(".vision_tower.") != std::string::npos;
    const bool vlm = name.starts_with("paligemma_with_expert.paligemma.");
    const bool frozen = unused || (config.freeze_vision_encoder && vision) || (config.train_expert_only && vlm);
    parameter.set_requires_grad(!frozen);
  });
}

}  // namespace flexor::models
