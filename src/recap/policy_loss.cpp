#include "recap/policy_loss.h"

#include "tensor/tensor.h"

namespace flexor::recap {

PolicyLoss policy_loss(models::PolicyModel& model, const schema::Batch& batch, const Tensor& noise,
                       const Tensor& time) {
  const models::LossOutput output = model.loss(batch, noise, time);
  const Tensor samples = output.elements.detach().mean({1, 2}).cpu().to(at::kDouble).contiguous();
  const double* values = samples.const_data_ptr<double>();
  return {.loss = output.elements.mean(),
          .per_sample = {values, values + samples.numel()},
          .real_dims = output.loss.detach().item<double>()};
}

}  // namespace flexor::recap
