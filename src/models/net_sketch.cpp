#include "models/net_sketch.h"

#include <algorithm>

#include "nn/named_params.h"
#include "tensor/tensor.h"

namespace flexor::models {
namespace {

constexpr int64_t kFewestRows = 16;  // as nn/fast_linear.cpp

at::ScalarType wider(const SketchTensor& x, const SketchTensor& y) {
  return x.dtype == at::kFloat || y.dtype == at::kFloat ? at::kFloat : x.dtype;
}

std::vector<int64_t> with_last(const SketchTensor& x, int64_t size) {
  std::vector<int64_t> shape = x.shape;
  shape.back() = size;
  return shape;
}

}  // namespace

SketchTensor NetSketch::cast(const SketchTensor& x, at::ScalarType dtype) {
  return x.dtype == dtype ? x : tape_.op(x.shape, dtype, {{x}});
}

SketchTensor NetSketch::scaled(const SketchTensor& x) {
  return tape_.op(x.shape, x.dtype, {{x}});
}

SketchTensor NetSketch::copied(const SketchTensor& x, std::vector<int64_t> shape) {
  return tape_.op(std::move(shape), x.dtype, {{x}});
}

SketchTensor NetSketch::sum(const SketchTensor& x, const SketchTensor& y) {
  const at::ScalarType dtype = wider(x, y);
  const auto passes = [&](const SketchTensor& t) { return t.dtype == dtype && t.count() == x.count(); };
  return tape_.op(x.shape, dtype, {{x, passes(x)}, {y, passes(y)}});
}

SketchTensor NetSketch::product(const SketchTensor& x, const SketchTensor& y) {
  const bool is_broadcast = y.count() < x.count();
  return tape_.op(x.shape, wider(x, y), {{x}, {y}}, {x.data, y.data},
                  {.backward = is_broadcast && y.gradient ? x.bytes() : 0});
}

SketchTensor NetSketch::cat(const SketchTensor& x, const SketchTensor& y, int64_t axis) {
  std::vector<int64_t> shape = x.shape;
  shape[static_cast<size_t>(axis)] += y.size(axis);
  const at::ScalarType dtype = wider(x, y);
  return tape_.op(std::move(shape), dtype, {{x, x.dtype == dtype}, {y, y.dtype == dtype}});
}

SketchTensor NetSketch::kept_elementwise(const SketchTensor& x) {
  return tape_.op(x.shape, x.dtype, {{x}}, {x.data});
}

SketchTensor NetSketch::cast_weight(const at::Tensor& weight) {
  if (!weight.requires_grad()) {
    return cast(tape_.param(weight), at::kBFloat16);
  }
  SketchTensor& copy = casts_[weight.unsafeGetTensorImpl()];
  if (!copy.defined()) {
    copy = cast(tape_.param(weight), at::kBFloat16);
  }
  return copy;
}

SketchTensor NetSketch::linear(const SketchTensor& x, const nn::Linear& layer, bool fast) {
  const bool low = options_.autocast;
  const SketchTensor in = low ? cast(x, at::kBFloat16) : x;
  const SketchTensor weight =
      low && layer.weight.scalar_type() == at::kFloat ? cast_weight(layer.weight) : tape_.param(layer.weight);
  const SketchTensor bias = layer.bias.defined() ? tape_.param(layer.bias) : SketchTensor();
  const bool is_fast = fast && !low && in.dtype == at::kFloat && weight.dtype == at::kFloat &&
                       in.count() >= static_cast<double>(kFewestRows * in.size(-1));
  std::vector<MemoryLedger::Held> saved;
  if (is_fast || weight.gradient) {
    saved.push_back(in.data);
  }
  if (in.gradient) {
    saved.push_back(weight.data);
  }
  const SketchTensor y = tape_.op(with_last(x, layer.weight.size(0)), in.dtype, {{in}, {weight}, {bias}}, saved);
  if (!layer.lora_a.defined()) {
    return y;
  }
  nn::Linear a, b;
  a.weight = layer.lora_a;
  b.weight = layer.lora_b;
  const SketchTensor update = scaled(linear(linear(cast(x, layer.lora_a.scalar_type()), a, false), b, false));
  return sum(y, cast(update, y.dtype));
}

SketchTensor NetSketch::layer_norm(const SketchTensor& x, const nn::LayerNorm& norm) {
  const double rows = x.count() / static_cast<double>(x.size(-1));
  const auto statistics = tape_.ledger().hold(MemoryUse::kActivations, 2 * rows * sizeof(float));
  return tape_.op(x.shape, x.dtype, {{x}, {tape_.param(norm.weight)}, {tape_.param(norm.bias)}}, {x.data, statistics});
}

SketchTensor NetSketch::modulation(const nn::RmsNorm& norm, const SketchTensor& condition) {
  return norm.adaptive() ? linear(condition, norm.dense, false) : SketchTensor();
}

NetSketch::Normed NetSketch::rms_norm(const SketchTensor& x, const nn::RmsNorm& norm, const SketchTensor& modulation) {
  const std::vector<int64_t> row = with_last(x, 1);
  if (options_.fused && !norm.adaptive()) {
    const SketchTensor weight = tape_.param(norm.weight);
    const auto rms = tape_.ledger().hold(MemoryUse::kActivations, sketch_bytes(row, at::kFloat));
    const double whole = sketch_bytes(x.shape, at::kFloat);  // for the gradient of the weight
    return {tape_.op(x.shape, x.dtype, {{x}, {weight}}, {x.data, rms},
                     {.backward = weight.gradient ? whole + (x.dtype == at::kFloat ? 0 : whole) : 0}),
            {}};
  }
  const SketchTensor x32 = cast(x, at::kFloat);
  const auto inverse_rms = [&] {
    const SketchTensor mean = tape_.op(row, at::kFloat, {{kept_elementwise(x32)}});
    const SketchTensor root = tape_.op(row, at::kFloat, {{mean}});
    return root;
  };
  const SketchTensor unit = product(x32, inverse_rms());
  if (!norm.adaptive()) {
    const SketchTensor weight = tape_.param(norm.weight);
    return {cast(product(unit, tape_.op(weight.shape, at::kFloat, {{weight}})), x.dtype), {}};
  }
  const auto part = [&] {
    return cast(tape_.op({x.size(0), 1, x.size(-1)}, modulation.dtype, {{modulation}}), at::kFloat);
  };
  const SketchTensor y = sum(product(unit, scaled(part())), part());
  return {cast(y, x.dtype), cast(part(), x.dtype)};
}

SketchTensor NetSketch::gated_residual(const SketchTensor& x, const SketchTensor& y, const SketchTensor& gate) {
  return gate.defined() ? sum(x, product(y, gate)) : sum(x, y);
}

SketchTensor NetSketch::mlp(const SketchTensor& x, const nn::GemmaMlp& mlp) {
  const SketchTensor gate = linear(x, mlp.gate_proj, options_.fused), up = linear(x, mlp.up_proj, options_.fused);
  if (options_.fused) {
    return linear(tape_.op(gate.shape, gate.dtype, {{gate}, {up}}, {gate.data, up.data}), mlp.down_proj, true);
  }
  return linear(product(kept_elementwise(gate), up), mlp.down_proj, false);
}

SketchTensor NetSketch::rope(const SketchTensor& x, const SketchTensor& table) {
  return tape_.op(x.shape, x.dtype, {{x}}, {table.data}, {.forward = 1.5 * x.bytes(), .backward = 1.5 * x.bytes()});
}

SketchTensor NetSketch::heads(const SketchTensor& x, int64_t head_dim) {
  return tape_.view(x, {x.size(0), x.size(1), x.size(-1) / head_dim, head_dim});
}

SketchTensor NetSketch::queries(const SketchTensor& n, const nn::GemmaLayer& layer, const SketchTensor& table) {
  return rope(heads(linear(n, layer.self_attn.q_proj, options_.fused), table.size(-1)), table);
}

NetSketch::KeyValue NetSketch::keys_values(const SketchTensor& n, const nn::GemmaLayer& layer,
                                           const SketchTensor& table) {
  return {rope(heads(linear(n, layer.self_attn.k_proj, options_.fused), table.size(-1)), table),
          heads(linear(n, layer.self_attn.v_proj, options_.fused), table.size(-1))};
}

SketchTensor NetSketch::finish(const SketchTensor& h, const SketchTensor& attended, const nn::GemmaLayer& layer,
                               const SketchTensor& gate, const SketchTensor& modulation) {
  const SketchTensor middle = gated_residual(h, linear(attended, layer.self_attn.o_proj, options_.fused), gate);
  const Normed normed = rms_norm(middle, layer.post_attention_layernorm, modulation);
  return gated_residual(middle, mlp(normed.y, layer.mlp), normed.gate);
}

SketchTensor NetSketch::queries(const SketchTensor& n, const nn::Gemma3Layer& layer, const SketchTensor& table) {
  const auto q =
      rms_norm(heads(linear(n, layer.self_attn.q_proj, options_.fused), table.size(-1)), layer.self_attn.q_norm, {});
  const SketchTensor rotated = rope(q.y, table);
  return layer.query_factor == 1.0 ? rotated : scaled(rotated);
}

NetSketch::KeyValue NetSketch::keys_values(const SketchTensor& n, const nn::Gemma3Layer& layer,
                                           const SketchTensor& table) {
  const auto k =
      rms_norm(heads(linear(n, layer.self_attn.k_proj, options_.fused), table.size(-1)), layer.self_attn.k_norm, {});
  return {rope(k.y, table), heads(linear(n, layer.self_attn.v_proj, options_.fused), table.size(-1))};
}

SketchTensor NetSketch::finish(const SketchTensor& h, const SketchTensor& attended, const nn::Gemma3Layer& layer) {
  const SketchTensor middle =
      sum(h, rms_norm(linear(attended, layer.self_attn.o_proj, options_.fused), layer.post_attention_layernorm, {}).y);
  const SketchTensor n = rms_norm(middle, layer.pre_feedforward_layernorm, {}).y;
  return sum(middle, rms_norm(mlp(n, layer.mlp), layer.post_feedforward_layernorm, {}).y);
}

SketchTensor NetSketch::siglip_layer(const SketchTensor& h, const nn::SiglipLayer& layer, int64_t num_heads) {
  const bool fused = options_.fused;
  const int64_t head_dim = h.size(-1) / num_heads;
  const SketchTensor n = layer_norm(h, layer.layer_norm1);
  const SketchTensor attended =
      attend(heads(linear(n, layer.q_proj, fused), head_dim), heads(linear(n, layer.k_proj, fused), head_dim),
             heads(linear(n, layer.v_proj, fused), head_dim), {}, /*explicit_exact=*/false);
  const SketchTensor middle = sum(h, linear(attended, layer.out_proj, fused));
  const SketchTensor hidden = linear(layer_norm(middle, layer.layer_norm2), layer.fc1, fused);
  return sum(middle, linear(kept_elementwise(hidden), layer.fc2, fused));
}

SketchTensor NetSketch::vision(const SketchTensor& pixels, const nn::SiglipTower& tower) {
  tape_.ledger().enter("vision embedding");
  const int64_t N = pixels.size(0), side = pixels.size(-1) / tower.patch_weight.size(-1),
                W = tower.patch_weight.size(0);
  const at::ScalarType dtype = options_.autocast ? at::kBFloat16 : at::kFloat;
  const auto embed = [&] {
    const SketchTensor in = cast(pixels, dtype);
    const SketchTensor weight = options_.autocast ? cast_weight(tower.patch_weight) : tape_.param(tower.patch_weight);
    const SketchTensor patches = tape_.op({N, side * side, W}, dtype, {{weight}, {tape_.param(tower.patch_bias)}},
                                          {in.data, weight.data});  // a convolution keeps both
    return sum(patches, tape_.param(tower.position_table));
  };
  SketchTensor h = embed();
  tape_.ledger().enter("vision layers");
  for (const nn::SiglipLayer& layer : tower.layers) {
    const auto run = [this, &layer, num_heads = tower.num_heads](const MemoryTape::Tensors& in) {
      return MemoryTape::Tensors{siglip_layer(in[0], layer, num_heads)};
    };
    nn::SiglipLayer visited = layer;
    const bool again = options_.recompute && (h.gradient || nn::any_trainable(visited));
    h = tape_.run_block(layer.q_proj.weight, run, {h}, again)[0];
  }
  return layer_norm(h, tower.post_layernorm);
}

SketchTensor NetSketch::embedding(const at::Tensor& table, int64_t batch, int64_t length) {
  const auto look_up = [&](const MemoryTape::Tensors&) {
    return MemoryTape::Tensors{tape_.op({batch, length, table.size(1)}, table.scalar_type(), {{tape_.param(table)}})};
  };
  return tape_.run_block(table, look_up, {}, /*recompute=*/false)[0];
}

}  // namespace flexor::models
