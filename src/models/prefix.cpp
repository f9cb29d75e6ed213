#include "models/prefix.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "models/masks.h"
#include "nn/resize_with_pad.h"
#include "nn/run_block.h"
#include "tensor/tap.h"
#include "tensor/tensor.h"

namespace flexor::models {
namespace {

using schema::Batch;
using schema::PolicyConfig;

Tensor prepare_pixels(const Tensor& pixels, const PolicyConfig& config) {
  const Tensor unit = pixels.scalar_type() == at::kByte ? pixels.to(at::kFloat) / 255.0 : pixels;
  return nn::resize_with_pad(unit, config.image_resolution[0], config.image_resolution[1]) * 2.0 - 1.0;
}

/// Encodes the cameras as one batch. @return [C * B, P, D], camera after camera
Tensor encode(FlowNet& net, const std::vector<CameraInput>& cameras, int64_t batch, const ComputeOptions& options) {
  std::vector<Tensor> pixels;
  pixels.reserve(cameras.size());
  for (const CameraInput& camera : cameras) {
    pixels.push_back(camera.pixels);
  }
  const Paligemma& p = net.paligemma;
  const Tensor patches = p.vision_tower(at::cat(pixels), options.fused_attention, options.gradient_checkpointing);
  tap("vision_tower.0", patches.narrow(0, 0, batch));
  return p.projector(patches, options.fused_attention);
}

Tensor embed_tokens(FlowNet& net, const Tensor& tokens) {
  const Tensor& table = net.paligemma.embed_tokens;
  const auto look_up = [&table](const nn::Tensors& in) { return nn::Tensors{at::embedding(table, in[0], kPadToken)}; };
  const Tensor rows = nn::run_block(table, look_up, {tokens}, /*recompute=*/false)[0];
  // The factor is rounded to the table's dtype first, as the reference's is (45.25 for width 2048 in bfloat16).
  return rows * at::scalar_tensor(std::sqrt(static_cast<double>(table.size(1))), table.options());
}

}  // namespace

std::vector<CameraInput> prepare_cameras(const Batch& batch, const PolicyConfig& config, bool with_missing) {
  std::vector<CameraInput> present;
  size_t num_missing = 0;
  for (const auto& feature : config.cameras()) {
    const auto found = std::find_if(batch.cameras.begin(), batch.cameras.end(),
                                    [&](const schema::CameraBatch& camera) { return camera.name == feature.name; });
    if (found == batch.cameras.end()) {
      ++num_missing;
    } else {
      present.push_back({prepare_pixels(found->pixels, config), /*present=*/true});
    }
  }
  for (size_t i = 0; with_missing && i < num_missing; ++i) {
    present.push_back({at::ones_like(present[0].pixels).neg_(), /*present=*/false});
  }
  return present;
}

// Axes: B observations, R prompts (a multiple of B), C cameras, N picture tokens of one camera, L prompt tokens, D
// width.
Prefix embed_prefix(FlowNet& net, const Batch& batch, const PolicyConfig& config, const ComputeOptions& options) {
  const auto cameras = prepare_cameras(batch, config, /*with_missing=*/!options.exact_savings);
  const int64_t R = batch.tokens.size(0), B = cameras[0].pixels.size(0);
  const auto C = static_cast<int64_t>(cameras.size());
  const Tensor features = encode(net, cameras, B, options);  // [C B, N, D]
  const int64_t N = features.size(1), D = features.size(2);

  const int64_t L = options.exact_savings ? longest_prompt(batch.token_mask) : batch.token_mask.size(1);
  const Tensor prompt_mask = batch.token_mask.narrow(1, 0, L);
  const Tensor prompt = embed_tokens(net, batch.tokens.narrow(1, 0, L));  // [R, L, D]
  Tensor images = features.view({C, B, N, D}).transpose(0, 1).reshape({B, C * N, D});
  if (R > B) {
    images = images.repeat({R / B, 1, 1});
  }
  std::vector<Tensor> pads;
  pads.reserve(cameras.size() + 1);
  for (int64_t i = 0; i < C; ++i) {
    pads.push_back(at::full({R, N}, cameras[i].present, prompt_mask.options()));
    if (tap_active()) {
      tap("image." + std::to_string(i), cameras[i].pixels);
      tap("image_mask." + std::to_string(i), pads.back().select(1, 0));
    }
  }
  tap("image_features.0", features.narrow(0, 0, B));
  pads.push_back(prompt_mask);
  Prefix prefix{at::cat({images, prompt}, 1), at::cat(pads, 1), false};
  prefix.all_real = prefix.pad.all().item<bool>();
  return prefix;
}

}  // namespace flexor::models
