#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>

#include "schema/batch.h"
#include "schema/policy_config.h"

namespace flexor::models {

/// What a model-side batch must fulfil before any of it is computed with.
/// @param training  actions are needed
/// @throws Error(kData) that names the tensor, with found and expected shape, dtype or range
void check_batch(const schema::Batch& batch, const schema::PolicyConfig& config, bool training);

/// The prompt part of it. @param prefix  of the tensors' names in messages, "guided "
void check_prompt(const at::Tensor& tokens, const at::Tensor& mask, const schema::PolicyConfig& config,
                  const std::string& prefix = {});

/// @throws Error(kData) if `tensor` is undefined, not of this dtype or shape (-1: any)
void check_input(const at::Tensor& tensor, at::ScalarType dtype, std::initializer_list<int64_t> shape,
                 const std::string& name);

}  // namespace flexor::models
