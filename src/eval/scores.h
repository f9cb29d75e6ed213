#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <span>
#include <vector>

#include "data/processor.h"
#include "data/raw_batch.h"
#include "eval/evaluate.h"

namespace flexor::eval {

/// What one batch adds to an evaluation. Sums are over frames of absolute errors; steps beyond an episode's end are
/// left out. Axes as in EvalResult.
struct BatchScores {
  int64_t frames = 0;
  double loss = 0;           ///< sum over frames
  bool holds_state = false;  ///< see EvalResult::baseline_hold
  at::Tensor count;          ///< [T] float64: frames that reach so far
  at::Tensor policy, hold;   ///< [T, A] float64
  at::Tensor mean;           ///< [T, A] float64; undefined if the statistics have no mean
  EvalSample first;          ///< of the batch's first frame
};

/// @param predicted  [B, T, A] in physical units, on the CPU  @param losses  [B]
BatchScores score_batch(const data::Processor& processor, const data::RawBatch& raw, const at::Tensor& predicted,
                        const at::Tensor& losses);

/// As numbers, to send to another rank, and back.
std::vector<double> packed(const BatchScores& scores);
BatchScores unpacked_scores(std::span<const double> numbers);

/// Adds batches up; in the same order the sums are the same to the last bit, whoever scored them.
class ScoreSums {
 public:
  void add(const BatchScores& batch);
  /// Without names, guidance and samples. @throws Error(kData) if no frame was added
  EvalResult result() const;

 private:
  BatchScores sum_;
};

}  // namespace flexor::eval
