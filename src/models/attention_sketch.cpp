// nn/attention.cpp without values.
#include "models/net_sketch.h"
#include "tensor/tensor.h"

namespace flexor::models {
namespace {

constexpr double kMostScoreBytes = 32 << 20;  // as nn/attention.cpp

/// [B, K, Q G, N]: one score for each query head and key.
std::vector<int64_t> score_shape(const SketchTensor& q, const SketchTensor& k) {
  return {q.size(0), k.size(2), q.size(1) * q.size(2) / k.size(2), k.size(1)};
}

std::vector<int64_t> attended_shape(const SketchTensor& q) {
  return {q.size(0), q.size(1), q.size(2) * q.size(3)};
}

}  // namespace

SketchTensor NetSketch::attend(const SketchTensor& q, const SketchTensor& k, const SketchTensor& v,
                               const SketchTensor& mask, bool explicit_exact) {
  const double scores = sketch_bytes(score_shape(q, k), q.dtype);
  SketchTensor rows = mask;  // repeated for the heads that share a key
  if (mask.defined() && mask.size(2) > 1 && q.size(2) > k.size(2)) {
    rows = tape_.constant({mask.size(0), 1, mask.size(2) * q.size(2) / k.size(2), mask.size(3)}, mask.dtype);
  }
  if (options_.fused && q.dtype == at::kBFloat16 && scores <= kMostScoreBytes) {
    return attend_by_sample(q, k, v, rows);
  }
  return options_.fused || !explicit_exact ? attend_in_one(q, k, v, rows) : attend_exactly(q, k, v, rows);
}

/// Scaled queries and the weights of every sample are kept.
SketchTensor NetSketch::attend_by_sample(const SketchTensor& q, const SketchTensor& k, const SketchTensor& v,
                                         const SketchTensor& mask) {
  const SketchTensor rows = scaled(q);
  const SketchTensor low_mask = mask.defined() ? tape_.constant(mask.shape, q.dtype) : SketchTensor();
  const double scores = sketch_bytes(score_shape(q, k), q.dtype), one = scores / static_cast<double>(q.size(0));
  const auto weights = tape_.ledger().hold(MemoryUse::kActivations, scores);
  const double samples = q.bytes();  // attended, one by one, until they are stacked
  return tape_.op(attended_shape(q), q.dtype, {{rows}, {k}, {v}}, {rows.data, k.data, v.data, weights},
                  {.forward = std::max(one, samples), .backward = 2 * one});
}

/// One kernel, which keeps its result and the logarithms of the sums.
SketchTensor NetSketch::attend_in_one(const SketchTensor& q, const SketchTensor& k, const SketchTensor& v,
                                      const SketchTensor& mask) {
  const auto sums = tape_.ledger().hold(MemoryUse::kActivations,
                                        static_cast<double>(q.size(0) * q.size(1) * q.size(2)) * sizeof(float));
  std::vector<MemoryLedger::Held> saved = {q.data, k.data, v.data, sums};
  if (mask.defined()) {
    saved.push_back(mask.data);
  }
  return tape_.op(attended_shape(q), q.dtype, {{q}, {k}, {v}}, saved, {.keeps_output = true});
}

SketchTensor NetSketch::attend_exactly(const SketchTensor& q, const SketchTensor& k, const SketchTensor& v,
                                       const SketchTensor& mask) {
  const std::vector<int64_t> shape = score_shape(q, k);
  SketchTensor scores = scaled(tape_.op(shape, q.dtype, {{q}, {k}}, {q.data, k.data}));
  if (mask.defined()) {
    scores = tape_.op(shape, at::kFloat, {{scores, scores.dtype == at::kFloat}});
  }
  const auto soften = [&] {
    const SketchTensor wide = cast(scores, at::kFloat);
    return cast(tape_.op(shape, at::kFloat, {{wide}}, {}, {.keeps_output = true}), q.dtype);
  };
  const SketchTensor weights = soften();
  return tape_.op(attended_shape(q), q.dtype, {{weights}, {v}}, {weights.data, v.data});
}

}  // namespace flexor::models
