#include "models/batch_check.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/str_cat.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace flexor::models {
namespace {

using schema::Batch;
using schema::PolicyConfig;

[[noreturn]] void refuse(const std::string& what, const std::string& where, const std::string& hint = {}) {
  throw Error(ErrorKind::kData, what, where, hint);
}

void check_finite(const Tensor& tensor, const std::string& name) {
  if (!tensor.isfinite().all().item<bool>()) {
    refuse(name + " holds NaN or infinity", name, "check the dataset and its statistics (a standard deviation of 0?)");
  }
}

void check_cameras(const Batch& batch, const PolicyConfig& config) {
  const auto known = config.cameras();
  std::string names;
  for (const auto& camera : known) {
    names += (names.empty() ? "" : ", ") + camera.name;
  }
  for (const auto& camera : batch.cameras) {
    const auto same = [&](const schema::PolicyFeature& feature) { return feature.name == camera.name; };
    if (std::none_of(known.begin(), known.end(), same)) {
      refuse(str_cat("camera '", camera.name, "' is not one of the policy's (", names, ")"), camera.name,
             "map it with rename_map");
    }
    const Tensor& pixels = camera.pixels;
    if (!pixels.defined() || pixels.dim() != 4 || pixels.size(0) != batch.size() || pixels.size(1) != 3 ||
        pixels.size(2) == 0 || pixels.size(3) == 0) {
      refuse(str_cat("pictures have shape ", pixels.defined() ? shape_text(pixels.sizes()) : "none", ", expected [",
                     batch.size(), ", 3, H, W]"),
             camera.name);
    }
    if (pixels.scalar_type() != at::kByte && pixels.scalar_type() != at::kFloat) {
      refuse(str_cat("pictures are ", dtype_name(pixels.scalar_type()), ", expected uint8 or float32"), camera.name);
    }
  }
  if (batch.cameras.empty()) {
    refuse("no camera is present, the policy needs at least one of " + names, "cameras",
           "name the dataset's cameras with rename_map");
  }
}

/// A state or action: float32, last axis no longer than the policy's.
void check_vector(const Tensor& tensor, std::initializer_list<int64_t> leading, int64_t longest,
                  const std::string& name, const std::string& key) {
  if (!tensor.defined()) {
    refuse(name + " is missing", name);
  }
  std::vector<int64_t> shape(leading);
  shape.push_back(tensor.dim() > 0 ? tensor.size(-1) : 0);
  if (tensor.scalar_type() != at::kFloat || tensor.sizes() != at::IntArrayRef(shape) || shape.back() > longest ||
      shape.back() == 0) {
    shape.back() = longest;
    refuse(str_cat(name, " is ", dtype_name(tensor.scalar_type()), " ", shape_text(tensor.sizes()),
                   ", the policy takes float32 up to ", shape_text(shape)),
           name, "see policy." + key);
  }
  check_finite(tensor, name);
}

}  // namespace

void check_input(const Tensor& tensor, at::ScalarType dtype, std::initializer_list<int64_t> shape,
                 const std::string& name) {
  bool fits = tensor.defined() && tensor.scalar_type() == dtype && tensor.dim() == static_cast<int64_t>(shape.size());
  int64_t axis = 0;
  for (const int64_t size : shape) {
    fits = fits && (size < 0 || tensor.size(axis) == size);
    ++axis;
  }
  if (!fits) {
    const std::string found =
        tensor.defined() ? str_cat(dtype_name(tensor.scalar_type()), " ", shape_text(tensor.sizes())) : "missing";
    refuse(str_cat(name, " is ", found, ", expected ", dtype_name(dtype), " ", shape_text(std::vector<int64_t>(shape))),
           name, "a batch file holds it like that, with the sizes of the policy's config.json");
  }
}

void check_prompt(const Tensor& tokens, const Tensor& mask, const PolicyConfig& config, const std::string& prefix) {
  const std::string name = prefix + "tokens";
  check_input(tokens, at::kLong, {-1, -1}, name + " [B, L]");
  const int64_t B = tokens.size(0), L = tokens.size(1);
  if (B == 0 || L == 0) {
    refuse(str_cat(name, " have shape ", shape_text(tokens.sizes()), ", at least one row and column are needed"), name);
  }
  check_input(mask, at::kBool, {B, L}, prefix + "token_mask [B, L]");
  const int64_t vocab = config.sizes().vocab_size;
  const auto low = tokens.min().item<int64_t>(), high = tokens.max().item<int64_t>();
  if (low < 0 || high >= vocab) {
    refuse(str_cat("token ids reach from ", low, " to ", high, ", the embedding has ", vocab, " rows"), name,
           "use the tokenizer that the policy was trained with");
  }
}

void check_batch(const Batch& batch, const PolicyConfig& config, bool training) {
  check_prompt(batch.tokens, batch.token_mask, config);
  check_cameras(batch, config);
  const int64_t B = batch.size();
  if (!config.is_pi05()) {
    check_vector(batch.state, {B}, config.max_state_dim, "state", "max_state_dim");
  }
  if (training) {
    check_vector(batch.action, {B, config.chunk_size}, config.max_action_dim, "action", "max_action_dim");
  }
}

}  // namespace flexor::models
