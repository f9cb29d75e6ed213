#include "models/flow_time.h"

#include <ATen/ops/_sample_dirichlet.h>

#include "base/error.h"
#include "base/str_cat.h"
#include "tensor/tensor.h"

namespace flexor::models {

Tensor sample_time(int64_t batch, const schema::PolicyConfig& config, at::Generator& generator) {
  const double alpha = config.time_sampling_beta_alpha, beta = config.time_sampling_beta_beta;
  if (!(alpha > 0) || !(beta > 0)) {
    throw Error(ErrorKind::kConfig, str_cat("alpha ", alpha, " and beta ", beta, " must be positive"),
                "policy.time_sampling_beta_alpha");
  }
  // A Beta variable is the first part of a two-part Dirichlet one.
  const Tensor concentration = at::tensor({alpha, beta}, at::kFloat).expand({batch, 2}).contiguous();
  const Tensor drawn = at::_sample_dirichlet(concentration, generator).select(1, 0);
  return drawn * config.time_sampling_scale + config.time_sampling_offset;
}

Tensor sample_noise(int64_t batch, const schema::PolicyConfig& config, at::Generator& generator) {
  return at::randn({batch, config.chunk_size, config.max_action_dim}, generator, at::kFloat);
}

}  // namespace flexor::models
