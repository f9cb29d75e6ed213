// The value model without values; see models/value_model.cpp.
#include <algorithm>

#include "models/flow_sketch.h"
#include "models/masks.h"
#include "models/net_sketch.h"
#include "tensor/tensor.h"

namespace flexor::models {
namespace {

constexpr auto kWide = at::kFloat;

class ValueSketch {
 public:
  ValueSketch(ValueModel& model, const BatchShape& batch, MemoryTape& tape)
      : model_(model),
        net_(model.net()),
        options_(model.options()),
        batch_(batch),
        tape_(tape),
        nn_(tape, {options_.fused, options_.autocast, options_.gradient_checkpointing}),
        dtype_(options_.autocast ? at::kBFloat16 : kWide) {}

  SketchTensor loss() {
    std::vector<NetSketch::KeyValue> all;
    const auto observe = [&] {
      const SketchTensor prefix = embed_prefix();
      all = run_gemma3(prefix);
      return prefix;
    };
    const SketchTensor prefix = options_.stop_gradient_to_vlm ? tape_.without_graph(observe) : observe();
    const SketchTensor hidden = nn_.cast(run_expert(all, prefix.size(1)), kWide);
    nn_.end_forward();
    const nn::Linear& head = net_.value_proj;  // outside of autocast
    const SketchTensor logits =
        tape_.op({hidden.size(0), head.weight.size(0)}, kWide,
                 {{hidden}, {tape_.param(head.weight)}, {tape_.param(head.bias)}}, {hidden.data});
    const SketchTensor likelihood = tape_.op(logits.shape, kWide, {{logits}}, {}, {.keeps_output = true});
    const SketchTensor target = tape_.constant(logits.shape, kWide);
    return tape_.op({1}, kWide, {{nn_.product(likelihood, target)}});
  }

 private:
  SketchTensor embed_prefix() {
    const ValueConfig& config = model_.config();
    const int64_t B = batch_.batch_size, C = batch_.cameras, S = config.architecture.image_size;
    tape_.ledger().enter("prompt");
    const SketchTensor prompt = nn_.scaled(nn_.embedding(net_.gemma3.embed_tokens, B, batch_.prompt_tokens));
    if (C == 0) {
      return prompt;
    }
    const auto encode = [&] {
      tape_.ledger().enter("vision embedding");
      std::vector<SketchTensor> cameras;
      for (int64_t i = 0; i < C && !batch_.float_pictures; ++i) {
        const SketchTensor unit = tape_.constant({B, 3, S, S}, kWide), twice = tape_.constant({B, 3, S, S}, kWide);
        cameras.push_back(unit);
      }
      const SketchTensor patches = nn_.vision(tape_.constant({C * B, 3, S, S}, kWide), net_.vision.tower);
      const SketchTensor features = nn_.linear(patches, net_.multi_modal_proj, options_.fused);
      const int64_t N = features.size(1), D = features.size(2);
      return C == 1 || B == 1 ? tape_.view(features, {B, C * N, D}) : nn_.copied(features, {B, C * N, D});
    };
    const SketchTensor pictures = encode();
    tape_.ledger().enter("prompt");
    return nn_.cat(pictures, nn_.cast(prompt, pictures.dtype), 1);
  }

  std::vector<NetSketch::KeyValue> run_gemma3(const SketchTensor& prefix) {
    tape_.ledger().enter("Gemma3 layers");
    const int64_t B = batch_.batch_size, P = prefix.size(1), E = model_.config().architecture.gemma3.head_dim;
    const SketchTensor full_rope = tape_.constant({B, P, E}, dtype_), local_rope = tape_.constant({B, P, E}, dtype_);
    const SketchTensor mask = batch_.has_padding ? tape_.constant({B, 1, 1, P}, kWide) : SketchTensor();
    const size_t depth = net_.expert.layers.size();
    const std::vector<int64_t>& full = model_.config().architecture.gemma3.full_layers;
    std::vector<NetSketch::KeyValue> all;
    SketchTensor h = nn_.cast(prefix, dtype_);
    for (size_t i = 0; i < depth; ++i) {
      nn::Gemma3Layer& layer = net_.gemma3.layers[i];
      const bool goes_on = i + 1 < depth, is_full = std::ranges::find(full, static_cast<int64_t>(i)) != full.end();
      const SketchTensor table = is_full ? full_rope : local_rope;
      const auto run = [this, &layer, mask, table, goes_on](const MemoryTape::Tensors& in) {
        const SketchTensor n = nn_.rms_norm(in[0], layer.input_layernorm, {}).y;
        const NetSketch::KeyValue kv = nn_.keys_values(n, layer, table);
        const SketchTensor next =
            goes_on ? nn_.finish(in[0], nn_.attend(nn_.queries(n, layer, table), kv.k, kv.v, mask), layer)
                    : SketchTensor();
        return MemoryTape::Tensors{kv.k, kv.v, next};
      };
      const bool trained = h.gradient || nn::any_trainable(layer);
      const MemoryTape::Tensors out =
          tape_.run_block(layer.self_attn.k_proj.weight, run, {h}, options_.gradient_checkpointing && trained);
      all.push_back({out[0], out[1]});
      h = out[2];
    }
    return all;
  }

  SketchTensor run_expert(const std::vector<NetSketch::KeyValue>& prefix, int64_t P) {
    tape_.ledger().enter("expert layers");
    const int64_t B = batch_.batch_size, E = model_.config().architecture.expert.head_dim;
    const SketchTensor mask = batch_.has_padding ? tape_.constant({B, 1, 1, P + 1}, kWide) : SketchTensor();
    const SketchTensor start = tape_.param(net_.cls_embedding);
    const SketchTensor table = tape_.constant({B, 1, E}, dtype_);
    SketchTensor h = nn_.cast(tape_.op({B, 1, start.size(1)}, kWide, {{start}}), dtype_);
    for (size_t i = 0; i < net_.expert.layers.size(); ++i) {
      const nn::GemmaLayer& layer = net_.expert.layers[i];
      const auto run = [&](const MemoryTape::Tensors& in) {
        const NetSketch::Normed n = nn_.rms_norm(in[0], layer.input_layernorm, {});
        const NetSketch::KeyValue own = nn_.keys_values(n.y, layer, table);
        const SketchTensor attended =
            nn_.attend(nn_.queries(n.y, layer, table), nn_.cat(in[1], own.k, 1), nn_.cat(in[2], own.v, 1), mask);
        return MemoryTape::Tensors{nn_.finish(in[0], attended, layer, {}, {})};
      };
      h = tape_.run_block(layer.self_attn.q_proj.weight, run, {h, prefix[i].k, prefix[i].v}, /*recompute=*/false)[0];
    }
    const SketchTensor y = nn_.rms_norm(h, net_.expert.norm, {}).y;
    return tape_.view(y, {B, y.size(2)});
  }

  ValueModel& model_;
  ValueNet& net_;
  ValueOptions options_;
  BatchShape batch_;
  MemoryTape& tape_;
  NetSketch nn_;
  at::ScalarType dtype_;
};

}  // namespace

SketchTensor sketch_loss(ValueModel& model, const BatchShape& batch, MemoryTape& tape) {
  const auto sketch = std::make_shared<ValueSketch>(model, batch, tape);
  tape.keep(sketch);
  return sketch->loss();
}

BatchShape shape_of(const ValueBatch& batch) {
  BatchShape shape{.batch_size = batch.size(),
                   .cameras = 0,
                   .prompt_tokens = longest_prompt(batch.token_mask),
                   .has_padding = false,
                   .float_pictures = false};
  shape.has_padding = !batch.token_mask.narrow(1, 0, shape.prompt_tokens).all().item<bool>();
  for (const ValueCamera& camera : batch.cameras) {
    const bool is_seen = !camera.mask.defined() || camera.mask.any().item<bool>();
    shape.cameras += is_seen ? 1 : 0;
    shape.has_padding = shape.has_padding || (is_seen && camera.mask.defined() && !camera.mask.all().item<bool>());
    shape.float_pictures = camera.pixels.is_floating_point();
  }
  return shape;
}

double batch_bytes(const ValueConfig& config, const BatchShape& batch) {
  const auto B = static_cast<double>(batch.batch_size), S = static_cast<double>(config.architecture.image_size);
  const double token = sizeof(int64_t) + 1;
  return B * (static_cast<double>(batch.cameras) * 3 * S * S * (batch.float_pictures ? sizeof(float) : 1) +
              static_cast<double>(batch.prompt_tokens) * token + sizeof(float));
}

}  // namespace flexor::models
