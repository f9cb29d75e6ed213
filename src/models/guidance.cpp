#include "models/guidance.h"

#include <ATen/ops/constant_pad_nd.h>
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/str_cat.h"
#include "models/batch_check.h"
#include "tensor/tensor.h"

namespace flexor::models {
namespace {

void check_guided(const GuidedPrompt& guided, int64_t rows, const schema::PolicyConfig& config) {
  if (!std::isfinite(guided.weight)) {
    throw Error(ErrorKind::kConfig, str_cat("the weight of the guidance is ", guided.weight, ", expected a number"),
                "guidance", "0: the plain prompt, 1: the guided one, above 1: further in that direction");
  }
  check_prompt(guided.tokens, guided.mask, config, "guided ");
  check_input(guided.tokens, at::kLong, {rows, -1}, "guided tokens [B, L]");
}

/// Rows of both, padded on the right to the longer one.
Tensor stack(const Tensor& plain, const Tensor& guided) {
  const int64_t length = std::max(plain.size(1), guided.size(1));
  const auto padded = [&](const Tensor& rows) {
    return rows.size(1) == length ? rows : at::constant_pad_nd(rows, {0, length - rows.size(1)}, 0);
  };
  return at::cat({padded(plain), padded(guided)});
}

}  // namespace

Tensor Branches::spread(const Tensor& rows) const {
  return weight ? at::cat({rows, rows}) : rows;
}

Tensor Branches::mix(const Tensor& velocity) const {
  if (!weight) {
    return velocity;
  }
  const int64_t B = velocity.size(0) / 2;
  return velocity.narrow(0, 0, B) * (1.0 - *weight) + velocity.narrow(0, B, B) * *weight;
}

Branches plan_branches(const schema::Batch& batch, const std::optional<GuidedPrompt>& guided,
                       const schema::PolicyConfig& config) {
  Branches branches{batch, std::nullopt};
  if (!guided) {
    return branches;
  }
  check_guided(*guided, batch.size(), config);
  const Tensor tokens = guided->tokens.to(batch.tokens.device()), mask = guided->mask.to(batch.tokens.device());
  if (guided->weight == 1.0) {
    branches.batch.tokens = tokens;
    branches.batch.token_mask = mask;
  } else if (guided->weight != 0.0) {
    branches.batch.tokens = stack(batch.tokens, tokens);
    branches.batch.token_mask = stack(batch.token_mask, mask);
    branches.weight = guided->weight;
  }
  return branches;
}

}  // namespace flexor::models
