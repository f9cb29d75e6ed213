#pragma once
#include <ATen/core/Tensor.h>
#include <map>
#include <string>
#include <string_view>

#include "schema/batch.h"

namespace flexor::schema {

/// A prepared, model-side batch of a safetensors file: normalised and tokenised, pictures raw, under LeRobot's names
/// (`observation.images.*`, `observation.language.tokens`, `observation.language.attention_mask`, `observation.state`,
/// `action`, `action_is_pad`), and what else a run takes from it.
struct BatchFile {
  std::string path;
  Batch batch;
  /// The other tensors by name: noise, time, sample_noise, train_noise, train_time, rtc_prev_chunk, ...
  std::map<std::string, at::Tensor, std::less<>> extra;

  /// @throws Error(kData) naming the file if there is no such extra tensor
  const at::Tensor& at(std::string_view name) const;
  bool has(std::string_view name) const { return extra.find(name) != extra.end(); }
};

/// Floating-point tensors other than pictures are float32 afterwards, tokens int64, masks bool.
/// @throws Error(kFile), Error(kData): no tokens, shapes or batch sizes that disagree, wrong dtypes, values not finite
BatchFile read_batch_file(const std::string& path);

}  // namespace flexor::schema
