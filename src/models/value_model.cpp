#include "models/value_model.h"

#include <ATen/ops/bernoulli.h>
#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "base/str_cat.h"
#include "config/finding.h"
#include "models/batch_check.h"
#include "models/masks.h"
#include "nn/attention.h"
#include "nn/autocast.h"
#include "nn/named_params.h"
#include "nn/run_block.h"
#include "tensor/tap.h"
#include "tensor/tensor.h"

namespace flexor::models {
namespace {

// Axes: B batch, C cameras, N picture tokens of one camera, L prompt tokens, P prefix tokens, D Gemma3 width, W expert
// width, K kv heads, E head_dim.

using KeyValue = nn::GemmaLayer::KeyValue;

/// Embedded observation.
struct ValuePrefix {
  Tensor embs;            ///< [B, P, D]
  Tensor pad;             ///< [B, P] bool, true = real
  bool all_real = false;  ///< no mask is needed
};

Tensor to_signed(const Tensor& pixels) {
  return pixels.scalar_type() == at::kByte ? pixels.to(at::kFloat) / 255.0 * 2.0 - 1.0 : pixels;
}

bool nobody_has(const ValueCamera& camera) {
  return camera.mask.defined() && !camera.mask.any().item<bool>();
}

/// Cameras by name; with savings only those that some sample has.
std::vector<ValueCamera> sorted_cameras(const ValueBatch& batch, bool savings) {
  std::vector<ValueCamera> cameras;
  for (const ValueCamera& camera : batch.cameras) {
    if (!savings || !nobody_has(camera)) {
      cameras.push_back(camera);
    }
  }
  std::ranges::sort(cameras, {}, &ValueCamera::name);
  return cameras;
}

/// Tokens of all cameras, [B, C N, D]; the pictures go through the tower as one batch.
Tensor encode_pictures(ValueNet& net, const std::vector<ValueCamera>& cameras, const ValueOptions& options) {
  std::vector<Tensor> pixels;
  for (const ValueCamera& camera : cameras) {
    pixels.push_back(to_signed(camera.pixels));
  }
  const auto C = static_cast<int64_t>(cameras.size()), B = cameras[0].pixels.size(0);
  const Tensor patches = net.vision.tower(at::cat(pixels), options.fused, options.gradient_checkpointing);
  const Tensor features = net.multi_modal_proj(patches, options.fused);  // [C B, N, D]
  const int64_t N = features.size(1), D = features.size(2);
  return features.view({C, B, N, D}).transpose(0, 1).reshape({B, C * N, D});
}

ValuePrefix embed_prefix(ValueNet& net, const ValueBatch& batch, const ValueOptions& options) {
  const int64_t B = batch.size();
  const auto cameras = sorted_cameras(batch, options.exact_savings);
  const int64_t L = options.exact_savings ? longest_prompt(batch.token_mask) : batch.token_mask.size(1);
  const Tensor& table = net.gemma3.embed_tokens;
  const auto look_up = [&table](const nn::Tensors& in) { return nn::Tensors{at::embedding(table, in[0], kPadToken)}; };
  const Tensor rows = nn::run_block(table, look_up, {batch.tokens.narrow(1, 0, L)}, /*recompute=*/false)[0];
  const Tensor prompt = rows * std::sqrt(static_cast<double>(table.size(1)));  // [B, L, D]; pictures are not scaled
  std::vector<Tensor> embs, pads;
  if (!cameras.empty()) {
    embs.push_back(encode_pictures(net, cameras, options));
    const int64_t N = embs[0].size(1) / static_cast<int64_t>(cameras.size());
    for (const ValueCamera& camera : cameras) {
      const Tensor mask = camera.mask.defined() ? camera.mask : at::ones({B}, batch.token_mask.options());
      pads.push_back(mask.unsqueeze(1).expand({B, N}));
    }
  }
  embs.push_back(prompt.to(embs.empty() ? prompt.scalar_type() : embs[0].scalar_type()));
  pads.push_back(batch.token_mask.narrow(1, 0, L));
  ValuePrefix prefix{at::cat(embs, 1), at::cat(pads, 1), false};
  prefix.all_real = prefix.pad.all().item<bool>();
  return prefix;
}

/// Rotations of the prefix for both kinds of layers.
struct PrefixRopes {
  nn::RopeTable full, local;
};

PrefixRopes make_ropes(const ValueConfig& config, const Tensor& positions, at::ScalarType dtype) {
  const Gemma3Size& size = config.architecture.gemma3;
  return {nn::rope_table(positions, size.head_dim, dtype, /*round_frequency=*/false, size.rope_theta),
          nn::rope_table(positions, size.head_dim, dtype, /*round_frequency=*/false, size.rope_local_base_freq)};
}

/// Keys and values of the Gemma3 layers that the expert reads. The prefix sees itself in both directions; only rows of
/// real tokens matter, so it is enough to hide padding keys. The reference passes a ready mask, which switches the
/// sliding window off.
std::vector<KeyValue> run_gemma3(ValueNet& net, const ValueConfig& config, const ValuePrefix& prefix,
                                 const ValueOptions& options, at::ScalarType dtype) {
  const Tensor positions = position_ids(prefix.pad);
  const PrefixRopes ropes = make_ropes(config, positions, dtype);
  const Tensor mask = prefix.all_real ? Tensor() : additive_mask(prefix.pad.unsqueeze(1));  // [B, 1, 1, P]
  tap("prefix_embs", prefix.embs);
  tap("prefix_pad_masks", prefix.pad);
  tap("prefix_position_ids", positions);
  const auto& full = config.architecture.gemma3.full_layers;
  const size_t read = net.expert.layers.size();
  const size_t depth = options.exact_savings ? read : net.gemma3.layers.size();
  std::vector<KeyValue> all;
  Tensor h = prefix.embs.to(dtype);
  for (size_t i = 0; i < depth; ++i) {
    const nn::Gemma3Layer& layer = net.gemma3.layers[i];
    const bool is_full = std::ranges::find(full, static_cast<int64_t>(i)) != full.end();
    const nn::RopeTable rope = is_full ? ropes.full : ropes.local;
    const bool goes_on = i + 1 < depth;
    const auto run = [&layer, rope, mask, goes_on, fused = options.fused](const nn::Tensors& in) {
      const Tensor n = layer.input_layernorm(in[0], {}, fused).y;
      const KeyValue kv = layer.keys_values(n, rope, fused);
      const Tensor next =
          goes_on ? layer.finish(in[0], nn::attend(layer.queries(n, rope, fused), kv.k, kv.v, mask, fused), fused)
                  : Tensor();
      return nn::Tensors{kv.k, kv.v, next};
    };
    const bool trained = h.requires_grad() || nn::any_trainable(net.gemma3.layers[i]);
    const nn::Tensors out =
        nn::run_block(layer.self_attn.k_proj.weight, run, {h}, options.gradient_checkpointing && trained);
    if (tap_active()) {
      tap(str_cat("kv.", i, ".key"), out[0].transpose(1, 2));
      tap(str_cat("kv.", i, ".value"), out[1].transpose(1, 2));
    }
    if (i < read) {
      all.push_back({out[0], out[1]});
    }
    h = out[2];
  }
  return all;
}

/// The [CLS] token behind the expert, [B, W].
Tensor run_expert(ValueNet& net, const ValueConfig& config, const std::vector<KeyValue>& prefix_kv, const Tensor& pad,
                  bool all_real, bool fused, at::ScalarType dtype) {
  const int64_t B = pad.size(0), W = net.cls_embedding.size(1);
  const Tensor positions = pad.to(at::kLong).sum(1, /*keepdim=*/true);  // [B, 1]
  const nn::RopeTable rope =
      nn::rope_table(positions, config.architecture.expert.head_dim, dtype, /*round_frequency=*/false);
  const Tensor mask =  // [B, 1, 1, P + 1]
      all_real ? Tensor() : additive_mask(at::cat({pad, at::ones({B, 1}, pad.options())}, 1).unsqueeze(1));
  Tensor h = net.cls_embedding.unsqueeze(0).expand({B, 1, W}).contiguous().to(dtype);
  if (config.scale_cls_embedding) {
    h = h * std::sqrt(static_cast<double>(W));
  }
  for (size_t i = 0; i < net.expert.layers.size(); ++i) {
    const nn::GemmaLayer& layer = net.expert.layers[i];
    const auto run = [&](const nn::Tensors& in) {
      const nn::Normed n = layer.input_layernorm(in[0], {}, fused);
      const KeyValue own = layer.keys_values(n.y, rope, fused);
      const Tensor attended = nn::attend(layer.queries(n.y, rope, fused), at::cat({in[1], own.k}, 1),
                                         at::cat({in[2], own.v}, 1), mask, fused);
      return nn::Tensors{layer.finish(in[0], attended, {}, {}, fused)};
    };
    h = nn::run_block(layer.self_attn.q_proj.weight, run, {h, prefix_kv[i].k, prefix_kv[i].v},
                      /*recompute=*/false)[0];
  }
  return net.expert.norm(h, {}, fused).y.squeeze(1);
}

std::vector<KeyValue> detached(const std::vector<KeyValue>& kvs) {
  std::vector<KeyValue> result;
  for (const KeyValue& kv : kvs) {
    result.push_back({kv.k.detach(), kv.v.detach()});
  }
  return result;
}

}  // namespace

ValueModel::ValueModel(const ValueConfig& config, const ValueOptions& options) : config_(config), options_(options) {
  if (const auto findings = models::check(config, ""); !findings.empty()) {
    throw config::to_error(findings);
  }
  net_ = make_value_net(config);
}

ModelBlocks ValueModel::blocks() const {
  return net_.blocks(options_.exact_savings ? net_.expert.layers.size() : net_.gemma3.layers.size());
}

void ValueModel::check(const ValueBatch& batch) const {
  if (!batch.tokens.defined() || batch.tokens.dim() != 2) {
    throw Error(ErrorKind::kData, "expected prompt tokens of shape [B, L]", "tokens");
  }
  const int64_t B = batch.size(), S = config_.architecture.image_size;
  check_input(batch.tokens, at::kLong, {B, -1}, "tokens");
  check_input(batch.token_mask, at::kBool, {B, batch.tokens.size(1)}, "token_mask");
  const int64_t vocabulary = config_.architecture.gemma3.vocab_size;
  const int64_t low = batch.tokens.min().item<int64_t>(), high = batch.tokens.max().item<int64_t>();
  if (low < 0 || high >= vocabulary) {
    throw Error(ErrorKind::kData,
                str_cat("token ", low < 0 ? low : high, " is none of the ", vocabulary, " of the value model"),
                "tokens", "use the tokenizer of the Gemma3 model that the value model was built on");
  }
  for (const ValueCamera& camera : batch.cameras) {
    const bool is_bytes = camera.pixels.defined() && camera.pixels.scalar_type() == at::kByte;
    check_input(camera.pixels, is_bytes ? at::kByte : at::kFloat, {B, 3, S, S}, camera.name);
    if (camera.mask.defined()) {
      check_input(camera.mask, at::kBool, {B}, camera.name + " mask");
    }
  }
}

Tensor ValueModel::logits(const ValueBatch& batch, at::Generator* dropout) {
  check(batch);
  Tensor hidden;  // [B, W]
  {
    const nn::AutocastGuard autocast(batch.tokens.device().type(), options_.autocast);
    const at::ScalarType dtype = options_.autocast ? at::kBFloat16 : at::kFloat;
    std::vector<KeyValue> kvs;
    ValuePrefix prefix;
    {
      const at::AutoGradMode grad(at::GradMode::is_enabled() && !options_.stop_gradient_to_vlm);
      prefix = embed_prefix(net_, batch, options_);
      kvs = run_gemma3(net_, config_, prefix, options_, dtype);
    }
    hidden = run_expert(net_, config_, options_.stop_gradient_to_vlm ? detached(kvs) : kvs, prefix.pad, prefix.all_real,
                        options_.fused, dtype)
                 .to(at::kFloat);
  }
  tap("cls_hidden", hidden);
  if (dropout != nullptr && config_.value_dropout > 0) {
    const double keep = 1.0 - config_.value_dropout;
    const Tensor kept = at::empty(hidden.sizes(), at::kFloat).bernoulli_(keep, *dropout);  // drawn on the CPU, always
    hidden = hidden * (kept.to(hidden.device()) / keep);
  }
  return net_.value_proj(hidden);
}

Tensor ValueModel::values(const Tensor& logits) const {
  const auto K = static_cast<double>(config_.num_bins - 1);
  const Tensor atoms =
      at::arange(config_.num_bins, logits.options()) * ((config_.v_max - config_.v_min) / K) + config_.v_min;
  return at::matmul(at::softmax(logits, -1), atoms);
}

void set_trainable(ValueModel& model, bool freeze_vision_encoder, bool freeze_vlm) {
  const auto read = static_cast<int64_t>(model.config().architecture.expert.depth);
  const auto is_read = [&](std::string_view name) {  // of a parameter below value_expert.gemma3.model.
    if (name.starts_with("embed_tokens")) {
      return true;
    }
    if (!name.starts_with("layers.")) {
      return false;
    }
    name.remove_prefix(7);
    const int64_t layer = std::stoll(std::string(name));
    const std::string_view part = name.substr(name.find('.') + 1);
    const bool keys =
        part.starts_with("input_layernorm") || part.starts_with("self_attn.k_") || part.starts_with("self_attn.v_");
    return layer + 1 < read || (layer + 1 == read && keys);
  };
  constexpr std::string_view kVision = "value_expert.vision_tower.", kGemma3 = "value_expert.gemma3.model.";
  nn::for_each_param(model, [&](const std::string& name, Tensor& parameter) {
    bool trained = !model.options().stop_gradient_to_vlm || !name.starts_with("value_expert.") ||
                   name.starts_with("value_expert.experts.");
    if (name.starts_with(kVision)) {
      trained = trained && !freeze_vision_encoder && name.find("vision_model.head.") == std::string::npos;
    } else if (name.starts_with(kGemma3)) {
      trained = trained && !freeze_vlm && is_read(std::string_view(name).substr(kGemma3.size()));
    }
    parameter.set_requires_grad(trained);
  });
}

}  // namespace flexor::models
