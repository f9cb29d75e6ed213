#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/memory_tape.h"
#include "nn/gemma3_layer.h"
#include "nn/gemma_layer.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/rms_norm.h"
#include "nn/siglip.h"

namespace flexor::models {

/// How the imagined model computes.
struct SketchOptions {
  bool fused = true, autocast = false, recompute = false;
};

/// The blocks of nn/ on tensors without values: each keeps what the block of the same name keeps. The two are held
/// together by memory_tape_test.cpp, which counts what the real ones allocate.
/// Axes: B batch, L tokens, D width, H heads, K kv heads, E head_dim, N pictures, P patches.
class NetSketch {
 public:
  NetSketch(MemoryTape& tape, const SketchOptions& options) : tape_(tape), options_(options) {
    tape.set_recomputed([this] { casts_.clear(); });
  }
  MemoryTape& tape() { return tape_; }
  const SketchOptions& options() const { return options_; }
  /// Autocast keeps bfloat16 copies of weights until the forward pass is over.
  void end_forward() { casts_.clear(); }

  SketchTensor cast(const SketchTensor& x, at::ScalarType dtype);
  SketchTensor scaled(const SketchTensor& x);  ///< x times a number, and whatever else keeps nothing
  SketchTensor copied(const SketchTensor& x, std::vector<int64_t> shape);  ///< another order of the axes, contiguous
  SketchTensor sum(const SketchTensor& x, const SketchTensor& y);          ///< y may be broadcast
  SketchTensor product(const SketchTensor& x, const SketchTensor& y);      ///< y may be broadcast
  SketchTensor cat(const SketchTensor& x, const SketchTensor& y, int64_t axis);
  SketchTensor kept_elementwise(const SketchTensor& x);  ///< keeps its input: gelu, square, silu

  SketchTensor linear(const SketchTensor& x, const nn::Linear& layer, bool fast);
  SketchTensor layer_norm(const SketchTensor& x, const nn::LayerNorm& norm);
  struct Normed {
    SketchTensor y, gate;
  };
  Normed rms_norm(const SketchTensor& x, const nn::RmsNorm& norm, const SketchTensor& modulation);
  SketchTensor modulation(const nn::RmsNorm& norm, const SketchTensor& condition);
  SketchTensor gated_residual(const SketchTensor& x, const SketchTensor& y, const SketchTensor& gate);
  SketchTensor mlp(const SketchTensor& x, const nn::GemmaMlp& mlp);
  SketchTensor rope(const SketchTensor& x, const SketchTensor& table);
  /// @param q  [B, Q, H, E]  @param k, v  [B, N, K, E]  @param mask  [B, 1, Q or 1, N] or undefined
  SketchTensor attend(const SketchTensor& q, const SketchTensor& k, const SketchTensor& v, const SketchTensor& mask,
                      bool explicit_exact = true);
  SketchTensor heads(const SketchTensor& x, int64_t head_dim);  ///< [B, L, H E] -> [B, L, H, E]

  // Gemma layers, cut as the real ones.
  // `table` holds cosines and sines of the rotation, [B, L, E].
  SketchTensor queries(const SketchTensor& n, const nn::GemmaLayer& layer, const SketchTensor& table);
  struct KeyValue {
    SketchTensor k, v;
  };
  KeyValue keys_values(const SketchTensor& n, const nn::GemmaLayer& layer, const SketchTensor& table);
  SketchTensor finish(const SketchTensor& h, const SketchTensor& attended, const nn::GemmaLayer& layer,
                      const SketchTensor& gate, const SketchTensor& modulation);
  SketchTensor queries(const SketchTensor& n, const nn::Gemma3Layer& layer, const SketchTensor& table);
  KeyValue keys_values(const SketchTensor& n, const nn::Gemma3Layer& layer, const SketchTensor& table);
  SketchTensor finish(const SketchTensor& h, const SketchTensor& attended, const nn::Gemma3Layer& layer);

  /// @param pixels  [N, 3, S, S] float32  @return [N, P, W]
  SketchTensor vision(const SketchTensor& pixels, const nn::SiglipTower& tower);
  SketchTensor embedding(const at::Tensor& table, int64_t batch, int64_t length);  ///< [B, L, D]

 private:
  SketchTensor cast_weight(const at::Tensor& weight);
  SketchTensor siglip_layer(const SketchTensor& h, const nn::SiglipLayer& layer, int64_t num_heads);
  SketchTensor attend_by_sample(const SketchTensor& q, const SketchTensor& k, const SketchTensor& v,
                                const SketchTensor& mask);
  SketchTensor attend_exactly(const SketchTensor& q, const SketchTensor& k, const SketchTensor& v,
                              const SketchTensor& mask);
  SketchTensor attend_in_one(const SketchTensor& q, const SketchTensor& k, const SketchTensor& v,
                             const SketchTensor& mask);

  MemoryTape& tape_;
  SketchOptions options_;
  std::unordered_map<const at::TensorImpl*, SketchTensor> casts_;
};

}  // namespace flexor::models
