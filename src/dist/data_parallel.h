#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dist/group.h"

namespace flexor::dist {

struct DataParallelOptions {
  int64_t bucket_bytes = int64_t{25} << 20U;       ///< gradients that are reduced together
  int64_t first_bucket_bytes = int64_t{1} << 20U;  ///< small, so that communication starts early
};

/// Gradients become their mean over the ranks while the backward pass still runs: c10d::Reducer, which sorts them into
/// buckets by the order in which they arrive, with the sums over Group.
///
/// A step without accumulation reduces gradients in their own dtype. With it, what the earlier micro batches gave stays
/// on the rank until the last one, whose gradient is added before the reduction, in the dtype of the sum: float32 for
/// bfloat16 parameters with float32 masters.
///
/// Which parameters get a gradient is learnt, not declared: the first step of each branch reduces when its backward
/// pass is over; from then on the Reducer works on those that had one on any rank. One that stays away on a rank is fed
/// zeros there, one that comes unexpectedly is reduced at the end, and one that no rank has stays undefined, so that
/// the optimizer skips it as in a single process. This also holds under activation checkpointing, where the Reducer's
/// own search for unused parameters sees nothing.
///
///   DataParallel reduce(group, trained_parameters);
///   for each micro batch but the last: forward, backward, add up
///   reduce.begin(branch, sums);  forward;  backward;  std::vector<Tensor> means = reduce.finish();
class DataParallel {
 public:
  /// Checks that all ranks hold the same parameters with the same values.
  /// @param params  those that are trained, with their names; they share storage with the model
  /// @throws Error(kRuntime) naming the rank and the first parameter that differs, and as Group
  DataParallel(std::shared_ptr<Group> group, std::vector<std::pair<std::string, at::Tensor>> params,
               const DataParallelOptions& options = {});
  ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  /// Before the forward pass whose backward pass reduces; the arguments' kinds are the same on all ranks.
  /// @param branch  parts of a model that are trained in turns
  /// @param sums  one a parameter, or none at all: float32 gradients of earlier micro batches of the step, undefined
  /// where .grad holds them or where there were none
  /// @param in_float32  reduce all gradients as float32, since there may be sums
  void begin(int64_t branch, std::vector<at::Tensor> sums, bool in_float32);
  /// After the backward pass: the mean over the ranks of each parameter's gradient, undefined where no rank has one.
  /// Waits for what is still under way (see Group::waited_s).
  std::vector<at::Tensor> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flexor::dist
