#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "dist/flat_unit.h"
#include "dist/group.h"
#include "dist/sharded_pass.h"
#include "tensor/param_block.h"

namespace flexor::dist {

/// What the ranks divide among them (ZeRO, arXiv:1910.02054). For P parameters
/// of bfloat16 with float32 masters and R ranks, bytes a rank: weights 2 P,
/// gradients 2 P, masters and moments 12 P with kOptimizer divided by R; with
/// kGradients the gradients too (as float32 sums); with kParameters also the
/// weights, beside two blocks of them.
enum class ShardStage { kOptimizer = 1, kGradients = 2, kParameters = 3 };

struct ShardConfig {
  ShardStage stage = ShardStage::kOptimizer;
  bool has_masters = false;         ///< bfloat16 parameters are updated in float32
  bool sums_micro_batches = false;  ///< a step has several; with kOptimizer only the last one communicates
  int64_t ranks_per_copy = 1;       ///< that divide one copy; the world is a multiple of it
};

/// The trained parameters of a model, divided among ranks. The model computes as ever; every rank updates its share.
///
///   ShardedParams sharded(params, blocks, config, world);  // the model's tensors become views of flat buffers
///   // an optimizer on sharded.shares(); then in every step
///   //   for each micro batch: begin_micro_batch(is_last); forward; backward; end_micro_batch();
///   //   finish_gradients();  // gradient(i) is the mean over all ranks of share i
///   //   update; end_step();
class ShardedParams {
 public:
  /// @param params  all of the model; the places outlive this object
  /// @param world  all ranks
  /// @throws Error(kConfig) if ranks_per_copy differs between ranks or the world is no multiple of it
  ShardedParams(std::vector<ParamPlace> params, const ModelBlocks& blocks, const ShardConfig& config,
                std::shared_ptr<Group> world);
  ~ShardedParams();
  ShardedParams(const ShardedParams&) = delete;
  ShardedParams& operator=(const ShardedParams&) = delete;

  const ShardConfig& config() const { return config_; }
  /// One for each parameter, in order. One that is not divided (frozen, below kParameters) is whole.
  const std::vector<ParamShare>& shares() const { return shares_; }
  /// Whether parameter i is divided; else the model has it.
  bool is_divided(size_t index) const { return homes_[index].unit != nullptr; }

  void begin_micro_batch(bool is_last) { pass_.begin(is_last || config_.stage != ShardStage::kOptimizer); }
  void end_micro_batch() { pass_.end(); }
  /// Waits for the gradients of the step. @throws Error(kRuntime) if a rank is gone
  void finish_gradients();
  /// [n] of share i: float32 where the parameter has a master, else its dtype;
  /// undefined if no rank had a gradient.
  at::Tensor gradient(size_t index) const;
  /// After the update of the shares, or none: gradients are dropped, the
  /// weights get to where they are read.
  void end_step();
  /// Shares were changed outside of a step.
  void all_gather_weights();
  /// Adds up over the ranks that divide a copy.
  double sum(double value) { return groups_.gradients->all_reduce(value); }

  void hold_weights() { pass_.hold_weights(); }  ///< see ShardedPass
  void drop_weights() { pass_.drop_weights(); }

  /// This rank's share of something kept for parameter i; kind 0 is its
  /// weights.
  using StateOf = std::function<at::Tensor(int64_t kind, size_t index)>;
  /// Rank 0 runs `write`, in which whole() brings tensors together, one at a
  /// time; the others help until it is done.
  /// @throws Error(kRuntime) on all other ranks if `write` throws
  void gather_while(const std::function<void()>& write, StateOf state);
  /// The whole tensor, absent until it is read, inside of gather_while().
  at::Tensor whole(int64_t kind, size_t index);

 private:
  /// Where a parameter is kept.
  struct Home {
    FlatUnit* unit = nullptr;
    size_t part = 0;
  };

  void make_groups(Group& world);
  void make_blocks(const ModelBlocks& blocks);
  size_t add_block(const std::vector<size_t>& params, bool read_in_backward);
  void add_units(size_t block, const std::vector<size_t>& params);
  void watch(size_t block);
  at::Tensor fetch(const FlatUnit& unit, int64_t first);
  at::Tensor bring(int64_t kind, size_t index);
  at::Tensor exchange(int64_t kind, size_t index);
  void send_order(int64_t order, int64_t kind, size_t index);
  int64_t help();

  std::vector<ParamPlace> params_;
  ShardConfig config_;
  std::shared_ptr<Group> world_;
  ShardGroups groups_;
  int64_t copy_ = 0;  ///< which one this rank divides
  ShardedPass pass_;
  std::vector<Home> homes_;
  std::vector<ParamShare> shares_;
  std::vector<bool> touched_;  ///< parameters that had a gradient in this step, on any rank
  StateOf state_;
};

}  // namespace flexor::dist
