#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>

#include "nn/linear.h"
#include "nn/param_visitor.h"

namespace flexor::nn {

/// What a norm hands to its sub-block: the normalised tokens, and the gate of the residual that follows.
struct Normed {
  at::Tensor y;     ///< [B, L, D], dtype of x
  at::Tensor gate;  ///< [B, 1, D], dtype of x; undefined for a plain norm
};

/// Root-mean-square norm, Gemma flavour (arXiv:1910.07467), computed in float32:
///   plain:    y = x / rms(x) * (1 + weight)
///   adaptive: y = x / rms(x) * (1 + scale) + shift, with [scale, shift, gate] = dense(condition)   (pi0.5)
struct RmsNorm {
  at::Tensor weight;  ///< [D], zero at initialisation; undefined when adaptive
  Linear dense;       ///< C -> 3 D with bias; undefined when plain
  double eps = 1e-6;

  bool adaptive() const { return !weight.defined(); }
  /// @param condition  [B, C] float32  @return [B, 3 D]; undefined for a plain norm
  at::Tensor modulation(const at::Tensor& condition) const;
  /// @param x  [B, L, D]  @param modulation  what modulation() gave  @param fused  one pass over memory (plain norms)
  Normed operator()(const at::Tensor& x, const at::Tensor& modulation, bool fused = false) const;
  void params(ParamVisitor& v);
};

RmsNorm make_rms_norm(int64_t width);
RmsNorm make_ada_rms_norm(int64_t width, int64_t condition_width);

/// x + y, or x + y * gate when there is a gate.
at::Tensor gated_residual(const at::Tensor& x, const at::Tensor& y, const at::Tensor& gate);

}  // namespace flexor::nn
