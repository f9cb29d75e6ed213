#include "recap/value_estimator.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "device/device.h"
#include "models/value_weights.h"
#include "nn/named_params.h"
#include "recap/value_prompt.h"
#include "recap/value_setup.h"
#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

/// The tokenizer that the section names, else the checkpoint's own, else that of gemma3_path.
data::Tokenizer open_tokenizer(const std::string& checkpoint, const ValueModelSection& section) {
  if (!section.tokenizer_path.empty()) {
    return data::Tokenizer::open(section.tokenizer_path);
  }
  for (const std::string& folder : {checkpoint, section.gemma3_path}) {
    if (!folder.empty() && !data::find_tokenizer(folder).empty()) {
      return data::Tokenizer::open(folder);
    }
  }
  throw Error(ErrorKind::kFile, "the value model has no tokenizer beside it", checkpoint,
              "advantage.model.tokenizer_path=FILE_OR_FOLDER (Gemma3's tokenizer.model or tokenizer.json)");
}

/// Frames that a CPU judges at once: more only take memory, and their activations leave its caches.
constexpr int64_t kCpuFrames = 16;

models::ValueBatch rows_of(const models::ValueBatch& batch, int64_t first, int64_t count) {
  const auto rows = [&](const Tensor& tensor) { return tensor.defined() ? tensor.narrow(0, first, count) : tensor; };
  models::ValueBatch part;
  for (const models::ValueCamera& camera : batch.cameras) {
    part.cameras.push_back({.name = camera.name, .pixels = rows(camera.pixels), .mask = rows(camera.mask)});
  }
  part.tokens = rows(batch.tokens);
  part.token_mask = rows(batch.token_mask);
  return part;
}

}  // namespace

ValueEstimator ValueEstimator::open(const std::string& checkpoint, const ValueModelSection& section) {
  const models::ValueOptions options{.autocast = section.precision == "bf16"};
  std::shared_ptr<models::ValueModel> model = models::open_value_model(checkpoint, value_config(section), options);
  data::Tokenizer tokenizer = open_tokenizer(checkpoint, section);
  data::check_vocabulary(tokenizer, model->config().architecture.gemma3.vocab_size);
  nn::move_params(*model, device::current());
  return {std::move(model), std::move(tokenizer)};
}

ValueEstimator::ValueEstimator(std::shared_ptr<models::ValueModel> model, data::Tokenizer tokenizer)
    : model_(std::move(model)), tokenizer_(std::move(tokenizer)) {}

data::BatchFormat ValueEstimator::format(const std::vector<std::string>& cameras) const {
  const int64_t side = config().architecture.image_size;
  return {.height = side, .width = side, .action_horizon = 0, .cameras = cameras};
}

models::ValueBatch ValueEstimator::prepare(const data::RawBatch& raw,
                                           const std::vector<std::pair<std::string, std::string>>& slots) const {
  models::ValueBatch batch;
  for (const auto& [slot, name] : slots) {
    const auto found = std::ranges::find(raw.cameras, name, &schema::CameraBatch::name);
    if (found != raw.cameras.end()) {
      const bool is_bytes = found->pixels.scalar_type() == at::kByte;
      const Tensor pixels = device::place(found->pixels);
      batch.cameras.push_back({.name = slot, .pixels = is_bytes ? pixels : pixels * 2.0 - 1.0, .mask = {}});
    }
  }
  std::vector<std::string> prompts;
  for (const std::string& task : raw.tasks) {
    prompts.push_back(value_prompt(task));
  }
  data::TokenBatch tokens = encode_prompts(tokenizer_, prompts, config().max_token_len);
  batch.tokens = device::place(tokens.tokens);
  batch.token_mask = device::place(tokens.mask);
  return batch;
}

std::vector<float> ValueEstimator::values(const models::ValueBatch& batch) {
  const at::NoGradGuard no_graph;
  const int64_t size = batch.size(), most = batch.tokens.is_cpu() ? kCpuFrames : size;
  std::vector<float> result;
  result.reserve(static_cast<size_t>(size));
  for (int64_t first = 0; first < size; first += most) {
    const models::ValueBatch part = rows_of(batch, first, std::min(most, size - first));
    const Tensor values = model_->values(model_->logits(part)).cpu().contiguous();
    const auto* data = values.const_data_ptr<float>();
    result.insert(result.end(), data, data + values.numel());
  }
  return result;
}

}  // namespace flexor::recap
