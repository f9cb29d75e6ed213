#include "models/steam_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/str_cat.h"
#include "config/finding.h"
#include "models/batch_check.h"
#include "models/masks.h"
#include "models/value_weights.h"
#include "nn/attention.h"
#include "nn/autocast.h"
#include "nn/named_params.h"
#include "nn/run_block.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"
#include "tensor/torch_file.h"

namespace flexor::models {
namespace {

// Axes: B pairs, L prompt tokens, S picture side, W vision width, D Gemma3 width, H projection_dim.

Tensor drop(const Tensor& x, double rate, at::Generator* generator) {
  if (generator == nullptr || rate <= 0) {
    return x;
  }
  const double keep = 1.0 - rate;
  return x * (at::empty(x.sizes(), at::kFloat).bernoulli_(keep, *generator).to(x.device()) / keep);
}

Tensor normalised(const Tensor& pixels, const SteamConfig& config) {
  const Tensor unit = pixels.scalar_type() == at::kByte ? pixels.to(at::kFloat) / 255.0 : pixels;
  const auto column = [&](const std::array<double, 3>& values) {
    return at::tensor(std::vector<double>(values.begin(), values.end()), at::kFloat)
        .view({1, 3, 1, 1})
        .to(pixels.device());
  };
  return (unit - column(config.image_mean)) / column(config.image_std);
}

/// 0 where a query may look: at itself and earlier real tokens, in local layers at most `window` - 1 back.
Tensor causal_mask(const Tensor& pad, int64_t window) {
  const int64_t L = pad.size(1);
  const Tensor place = at::arange(L, pad.options().dtype(at::kLong));
  const Tensor back = place.unsqueeze(1) - place.unsqueeze(0);  // query minus key
  const Tensor allowed = back.ge(0) & back.lt(window);
  return additive_mask(allowed.unsqueeze(0) & pad.unsqueeze(1));
}

/// Gemma3 as a language model: hidden states behind the final norm, [B, L, D].
Tensor run_causal(Gemma3Stack& gemma3, const Gemma3Size& size, const Tensor& tokens, const Tensor& pad,
                  const ValueOptions& options, at::ScalarType dtype) {
  const int64_t B = tokens.size(0), L = tokens.size(1);
  const Tensor positions = at::arange(L, pad.options().dtype(at::kLong)).unsqueeze(0).expand({B, L});
  const nn::RopeTable full = nn::rope_table(positions, size.head_dim, dtype, false, size.rope_theta),
                      local = nn::rope_table(positions, size.head_dim, dtype, false, size.rope_local_base_freq);
  const Tensor full_mask = causal_mask(pad, L + 1), local_mask = causal_mask(pad, size.sliding_window);
  const bool fused = options.fused;
  const auto look_up = [&gemma3](const nn::Tensors& in) {
    return nn::Tensors{at::embedding(gemma3.embed_tokens, in[0], kPadToken)};
  };
  const Tensor rows = nn::run_block(gemma3.embed_tokens, look_up, {tokens}, /*recompute=*/false)[0];
  Tensor h = (rows * std::sqrt(static_cast<double>(size.width))).to(dtype);
  for (size_t i = 0; i < gemma3.layers.size(); ++i) {
    nn::Gemma3Layer& layer = gemma3.layers[i];
    const bool is_full = std::ranges::find(size.full_layers, static_cast<int64_t>(i)) != size.full_layers.end();
    const nn::RopeTable rope = is_full ? full : local;
    const Tensor mask = is_full ? full_mask : local_mask;
    const auto run = [&layer, rope, mask, fused](const nn::Tensors& in) {
      const Tensor n = layer.input_layernorm(in[0], {}, fused).y;
      const nn::GemmaLayer::KeyValue kv = layer.keys_values(n, rope, fused);
      return nn::Tensors{
          layer.finish(in[0], nn::attend(layer.queries(n, rope, fused), kv.k, kv.v, mask, fused), fused)};
    };
    const bool again = options.gradient_checkpointing && (h.requires_grad() || nn::any_trainable(layer));
    h = nn::run_block(layer.self_attn.q_proj.weight, run, {h}, again)[0];
  }
  return gemma3.norm(h, {}, fused).y;
}

/// Pooled features of the cameras that some frame has: [C, 2 B, W].
Tensor encode(SteamMember& member, const std::vector<ValueCamera>& cameras, const SteamConfig& config,
              const ValueOptions& options) {
  std::vector<Tensor> pixels;
  for (const ValueCamera& camera : cameras) {
    pixels.push_back(normalised(camera.pixels, config));
  }
  const int64_t heads = config.architecture.vision.num_heads;
  const Tensor patches = member.vision.tower(at::cat(pixels), options.fused, options.gradient_checkpointing);
  const Tensor pooled = member.vision.pool(patches, heads, options.fused);  // [C 2 B, W]
  return pooled.view({static_cast<int64_t>(cameras.size()), cameras[0].pixels.size(0), pooled.size(1)});
}

void check_batch(const SteamBatch& batch, const SteamConfig& config) {
  if (!batch.tokens.defined() || batch.tokens.dim() != 2 || batch.cameras.empty()) {
    throw Error(ErrorKind::kData, "expected prompt tokens of shape [B, L] and at least one camera", "steam batch");
  }
  const int64_t B = batch.size(), S = config.architecture.image_size;
  check_input(batch.tokens, at::kLong, {B, -1}, "tokens");
  check_input(batch.token_mask, at::kBool, {B, batch.tokens.size(1)}, "token_mask");
  const int64_t high = batch.tokens.max().item<int64_t>();
  if (high >= config.architecture.gemma3.vocab_size || batch.tokens.min().item<int64_t>() < 0) {
    throw Error(ErrorKind::kData,
                str_cat("token ", high, " is none of the ", config.architecture.gemma3.vocab_size, " of the model"),
                "tokens", "use the tokenizer of its Gemma3");
  }
  for (const ValueCamera& camera : batch.cameras) {
    const bool is_bytes = camera.pixels.defined() && camera.pixels.scalar_type() == at::kByte;
    check_input(camera.pixels, is_bytes ? at::kByte : at::kFloat, {2 * B, 3, S, S}, camera.name);
    if (camera.mask.defined()) {
      check_input(camera.mask, at::kBool, {2 * B}, camera.name + " mask");
    }
  }
}

std::vector<ValueCamera> sorted_cameras(std::vector<ValueCamera> cameras) {
  std::ranges::sort(cameras, {}, &ValueCamera::name);
  return cameras;
}

/// Mean over the cameras that a frame has, [2 B, H]; 0 without any.
Tensor mean_of_cameras(const Tensor& projected, const std::vector<ValueCamera>& cameras) {
  std::vector<Tensor> masks;
  for (const ValueCamera& camera : cameras) {
    masks.push_back(camera.mask.defined() ? camera.mask.to(at::kFloat)
                                          : at::ones({projected.size(1)}, projected.options().dtype(at::kFloat)));
  }
  const Tensor weights = at::stack(masks).unsqueeze(2);  // [C, 2 B, 1]
  return (projected * weights).sum(0) / weights.sum(0).clamp_min(1.0);
}

void init_linear(nn::Linear& linear, at::Generator& generator) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(linear.weight.size(1)));
  for (Tensor* p : {&linear.weight, &linear.bias}) {
    *p = at::empty(p->sizes(), at::kFloat).uniform_(-bound, bound, generator);
  }
}

void init_head(SteamMember& member, uint64_t seed) {
  const at::NoGradGuard no_graph;
  at::Generator generator = make_generator(seed);
  for (nn::Linear* linear : {&member.image_proj, &member.text_proj, &member.head_hidden, &member.head_out}) {
    init_linear(*linear, generator);
  }
  member.head_norm.weight = at::ones(member.head_norm.weight.sizes());
  member.head_norm.bias = at::zeros(member.head_norm.bias.sizes());
}

/// Copies the first member's backbone to the others.
void clone_backbone(SteamEnsemble& ensemble) {
  const at::NoGradGuard no_graph;
  for (size_t m = 1; m < ensemble.members().size(); ++m) {
    for (const bool vision : {true, false}) {
      const auto from =
          vision ? nn::named_params(ensemble.members()[0].vision) : nn::named_params(ensemble.members()[0].gemma3);
      size_t next = 0;
      const auto copy = [&](const std::string&, Tensor& p) { p = from[next++].second.detach().clone(); };
      if (vision) {
        nn::for_each_param(ensemble.members()[m].vision, copy);
      } else {
        nn::for_each_param(ensemble.members()[m].gemma3, copy);
      }
    }
  }
}

}  // namespace

void SteamMember::params(nn::ParamVisitor& v) {
  struct Gemma3Params {
    Gemma3Stack& gemma3;
    void params(nn::ParamVisitor& visitor) { visitor.scope("model", gemma3); }
  } language{gemma3};
  v.scope("vision_tower", vision);
  v.scope("gemma3", language);
  v.scope("image_proj", image_proj);
  v.scope("text_proj", text_proj);
  v.scope("head_norm", head_norm);
  v.scope("head_hidden", head_hidden);
  v.scope("head_out", head_out);
}

SteamEnsemble::SteamEnsemble(const SteamConfig& config, const ValueOptions& options)
    : config_(config), options_(options) {
  if (const auto findings = models::check(config, ""); !findings.empty()) {
    throw config::to_error(findings);
  }
  constexpr double kHeadEps = 1e-5;  // PyTorch's default
  const ValueArchitecture& sizes = config.architecture;
  const int64_t H = config.projection_dim;
  const auto linear = [](int64_t in, int64_t out) { return nn::make_linear(in, out, /*bias=*/true, at::kFloat); };
  for (int64_t m = 0; m < config.ensemble_size; ++m) {
    SteamMember& member = members_.emplace_back();
    member.vision = make_vision_tower(sizes.vision, sizes.image_size);
    member.gemma3 = make_gemma3(sizes.gemma3);
    member.image_proj = linear(sizes.vision.width, H);
    member.text_proj = linear(sizes.gemma3.width, H);
    member.head_norm = nn::make_layer_norm(3 * H);
    member.head_norm.eps = kHeadEps;
    member.head_hidden = linear(3 * H, H);
    member.head_out = linear(H, config.num_bins);
  }
}

void SteamEnsemble::params(nn::ParamVisitor& visitor) {
  for (size_t m = 0; m < members_.size(); ++m) {
    visitor.scope("members." + std::to_string(m), members_[m]);
  }
}

ModelBlocks SteamEnsemble::blocks() const {
  ModelBlocks blocks;
  for (size_t m = 0; m < members_.size(); ++m) {
    const std::string member = str_cat("members.", m, ".");
    std::vector<ParamBlock> order =
        layer_blocks(member + "vision_tower.vision_model.encoder.", members_[m].vision.tower.layers.size());
    order.push_back({{member + "gemma3.model.embed_tokens."}, /*read_in_backward=*/false});
    const std::vector<ParamBlock> layers = layer_blocks(member + "gemma3.model.", members_[m].gemma3.layers.size());
    order.insert(order.end(), layers.begin(), layers.end());
    blocks.sequences.push_back(std::move(order));
  }
  return blocks;
}

Tensor SteamEnsemble::logits(size_t index, const SteamBatch& batch, at::Generator* dropout) {
  check_batch(batch, config_);
  SteamMember& member = members_.at(index);
  const std::vector<ValueCamera> cameras = sorted_cameras(batch.cameras);
  const int64_t B = batch.size(), L = longest_prompt(batch.token_mask);
  const Tensor pad = batch.token_mask.narrow(1, 0, L);
  Tensor pictures, hidden;  // [C, 2 B, W], [B, L, D]
  {
    const nn::AutocastGuard autocast(batch.tokens.device().type(), options_.autocast);
    const at::ScalarType dtype = options_.autocast ? at::kBFloat16 : at::kFloat;
    pictures = encode(member, cameras, config_, options_).to(at::kFloat);
    hidden = run_causal(member.gemma3, config_.architecture.gemma3, batch.tokens.narrow(1, 0, L), pad, options_, dtype)
                 .to(at::kFloat);
  }
  const Tensor projected = drop(at::gelu(member.image_proj(pictures)), config_.dropout, dropout);  // [C, 2 B, H]
  const Tensor frames = mean_of_cameras(projected, cameras);
  const Tensor real = pad.to(at::kFloat).unsqueeze(2);
  const Tensor pooled = (hidden * real).sum(1) / real.sum(1).clamp_min(1.0);  // [B, D]
  const Tensor text = drop(at::gelu(member.text_proj(pooled)), config_.dropout, dropout);
  const Tensor joined = at::cat({frames.narrow(0, 0, B), frames.narrow(0, B, B), text}, 1);  // [B, 3 H]
  const Tensor mixed = drop(at::gelu(member.head_hidden(member.head_norm(joined))), config_.dropout, dropout);
  return member.head_out(mixed);
}

Tensor SteamEnsemble::all_logits(const SteamBatch& batch) {
  std::vector<Tensor> all;
  for (size_t m = 0; m < members_.size(); ++m) {
    all.push_back(logits(m, batch));
  }
  return at::stack(all);
}

void init_steam(SteamEnsemble& ensemble, at::Generator& backbone, uint64_t head_seed) {
  init_siglip(ensemble.members()[0].vision, backbone);
  init_gemma3(ensemble.members()[0].gemma3, backbone);
  clone_backbone(ensemble);
  for (size_t m = 0; m < ensemble.members().size(); ++m) {
    init_head(ensemble.members()[m], head_seed + m);
  }
}

void load_steam_backbone(SteamEnsemble& ensemble, const std::string& siglip, const std::string& gemma3) {
  if (!siglip.empty()) {
    load_siglip(ensemble.members()[0].vision, siglip);
  }
  if (!gemma3.empty()) {
    load_gemma3(ensemble.members()[0].gemma3, gemma3);
  }
  clone_backbone(ensemble);
}

void set_trainable(SteamEnsemble& ensemble, bool freeze_vision_encoder, bool freeze_vlm) {
  nn::for_each_param(ensemble, [&](const std::string& name, Tensor& parameter) {
    const bool vision = name.find(".vision_tower.") != std::string::npos,
               language = name.find(".gemma3.") != std::string::npos;
    parameter.set_requires_grad(!(vision && freeze_vision_encoder) && !(language && freeze_vlm));
  });
}

void save_steam_weights(SteamEnsemble& ensemble, const std::string& file) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : nn::named_params(ensemble)) {
    tensors.emplace_back(name, tensor.detach());
  }
  write_safetensors(file, tensors);
}

std::unique_ptr<SteamEnsemble> open_steam(const std::string& folder, const ValueOptions& options) {
  const std::string config = folder + "/config.json", weights = folder + "/model.safetensors";
  if (!std::filesystem::is_regular_file(config) || !std::filesystem::is_regular_file(weights)) {
    throw Error(ErrorKind::kFile, "no STEAM ensemble: config.json or model.safetensors is missing", folder,
                "flexor recap value --method steam --config FILE");
  }
  auto ensemble = std::make_unique<SteamEnsemble>(steam_config_from_json(Json::read_file(config), config), options);
  NamedParams target;
  nn::for_each_param(*ensemble, [&](const std::string& name, Tensor& p) { target.params.emplace_back(name, &p); });
  fill_params(target, read_tensor_file(weights), "", weights, "does config.json belong to these weights?");
  return ensemble;
}

}  // namespace flexor::models
