#include "schema/batch_file.h"

#include <ATen/ops/isfinite.h>
#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/str_cat.h"
#include "schema/policy_feature.h"
#include "tensor/safetensors.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace flexor::schema {
namespace {

constexpr std::string_view kTokensKey = "observation.language.tokens";
constexpr std::string_view kTokenMaskKey = "observation.language.attention_mask";
constexpr std::string_view kActionIsPadKey = "action_is_pad";

[[noreturn]] void refuse(const std::string& what, const std::string& path, std::string_view name) {
  throw Error(ErrorKind::kData, what, str_cat(path, ", tensor ", name),
              "a batch file holds model-side tensors: float32 observation.state and action, int64 tokens, a bool "
              "attention mask, pictures [B, 3, H, W]");
}

/// @param sizes  expected sizes, -1 for any; the first is the batch
void check(const Tensor& tensor, std::vector<int64_t> sizes, const std::string& path, std::string_view name) {
  bool fits = tensor.dim() == static_cast<int64_t>(sizes.size());
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = sizes[i] < 0 ? tensor.size(static_cast<int64_t>(i)) > 0 : tensor.size(static_cast<int64_t>(i)) == sizes[i];
  }
  if (!fits) {
    refuse(str_cat("expected shape ", shape_text(sizes), " (-1: any), found ", shape_text(tensor.sizes())), path, name);
  }
}

Tensor floats(const Tensor& tensor, const std::string& path, std::string_view name) {
  if (!tensor.is_floating_point()) {
    refuse(str_cat("expected floating-point values, found ", dtype_name(tensor.scalar_type())), path, name);
  }
  const Tensor result = tensor.to(at::kFloat);
  const Tensor good = at::isfinite(result);
  if (!good.all().item<bool>()) {
    refuse(str_cat(good.logical_not().sum().item<int64_t>(), " of ", result.numel(), " values are not finite"), path,
           name);
  }
  return result;
}

Tensor mask(const Tensor& tensor, const std::string& path, std::string_view name) {
  if (tensor.is_floating_point()) {
    refuse(str_cat("expected a bool mask, found ", dtype_name(tensor.scalar_type())), path, name);
  }
  return tensor.to(at::kBool);
}

Tensor picture(const Tensor& tensor, int64_t batch, const std::string& path, std::string_view name) {
  check(tensor, {batch, 3, -1, -1}, path, name);
  return tensor.scalar_type() == at::kByte ? tensor : floats(tensor, path, name);
}

}  // namespace

const Tensor& BatchFile::at(std::string_view name) const {
  const auto found = extra.find(name);
  if (found == extra.end()) {
    std::string names;
    for (const auto& entry : extra) {
      names += (names.empty() ? "" : ", ") + entry.first;
    }
    throw Error(ErrorKind::kData, str_cat("the batch has no tensor '", name, "'"), path,
                names.empty() ? "put it into the file" : "put it into the file; beside the batch there is " + names);
  }
  return found->second;
}

BatchFile read_batch_file(const std::string& path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  BatchFile result{.path = path, .batch = {}, .extra = {}};
  Batch& batch = result.batch;
  batch.tokens = file.get(kTokensKey);
  check(batch.tokens, {-1, -1}, path, kTokensKey);
  if (at::isIntegralType(batch.tokens.scalar_type(), /*includeBool=*/false)) {
    batch.tokens = batch.tokens.to(at::kLong);
  } else {
    refuse(str_cat("expected int64, found ", dtype_name(batch.tokens.scalar_type())), path, kTokensKey);
  }
  const int64_t size = batch.tokens.size(0);
  batch.token_mask = mask(file.get(kTokenMaskKey), path, kTokenMaskKey);
  check(batch.token_mask, {size, batch.tokens.size(1)}, path, kTokenMaskKey);
  for (const auto& entry : file.entries()) {
    const Tensor tensor = file.get(entry.name);
    if (entry.name.starts_with(kImagePrefix)) {
      batch.cameras.push_back({entry.name, picture(tensor, size, path, entry.name)});
    } else if (entry.name == kStateKey) {
      check(tensor, {size, -1}, path, entry.name);
      batch.state = floats(tensor, path, entry.name);
    } else if (entry.name == kActionKey) {
      check(tensor, {size, -1, -1}, path, entry.name);
      batch.action = floats(tensor, path, entry.name);
    } else if (entry.name == kActionIsPadKey) {
      check(tensor, {size, -1}, path, entry.name);
      batch.action_is_pad = mask(tensor, path, entry.name);
    } else if (entry.name != kTokensKey && entry.name != kTokenMaskKey) {
      result.extra.emplace(entry.name, tensor.is_floating_point() ? floats(tensor, path, entry.name) : tensor);
    }
  }
  std::ranges::sort(batch.cameras, {}, &CameraBatch::name);
  return result;
}

}  // namespace flexor::schema
