#pragma once
#include <ATen/core/Tensor.h>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "dist/flat_unit.h"
#include "tensor/param_block.h"

namespace flexor::dist {

/// The flat units of one block, and where the block stands in a pass.
struct ShardedBlock {
  std::vector<std::unique_ptr<FlatUnit>> units;
  size_t sequence = 0, position = 0;  ///< only of blocks in a sequence
  bool is_read = true;                ///< by any pass
  bool read_in_backward = true;       ///< its parameters are gathered for its gradient
  int64_t num_trained = 0;            ///< parameters
  int64_t arrived = 0;                ///< gradients of this pass
  bool is_complete = false;           ///< all gradients of this pass have come
};

/// Brings the weights of the blocks for a forward and backward pass and takes their gradients away, both in an order
/// that is the same on all ranks, also where one rank leaves out a block that another computes (no picture in its
/// batch): it then takes part in the collectives of that block without computing.
///
/// - forward, in the order of the blocks: the next block is gathered while one computes, a computed one is released
/// - backward, in reverse: the same; a block's gradients are reduced when all have come, or when the backward pass has
///   reached an earlier block (autograd finishes later blocks first); its weights are released then
class ShardedPass final : public BlockObserver {
 public:
  struct Options {
    bool shard_weights = false;
  };
  explicit ShardedPass(const Options& options) : options_(options) {}

  /// Blocks by number; `root` is in no sequence and there during the whole
  /// pass. Call these before the first pass.
  std::vector<ShardedBlock>& blocks() { return blocks_; }
  void set_root(size_t block) { root_ = block; }
  void set_sequences(std::vector<std::vector<size_t>> sequences) { sequences_ = std::move(sequences); }
  void add_param(const at::Tensor& parameter, size_t block);

  void before_block(const at::Tensor& parameter) override;
  void after_block(const at::Tensor& parameter, std::span<const at::Tensor> outputs) override;
  /// autograd has accumulated a gradient. @throws Error(kRuntime) if its block
  /// was reduced already
  void on_gradient(size_t block, size_t unit, size_t part, at::Tensor& grad);

  /// @param reduces  gradients are reduced in this pass, else only summed
  void begin(bool reduces);
  void end();
  void finish_reducing();

  /// All weights stay gathered, for passes without gradient at any pace.
  void hold_weights();
  void drop_weights();
  void wait_weights();  ///< that are on the way

 private:
  enum class Phase { kNone, kForward, kBackward };

  size_t block_of(const at::Tensor& parameter) const;
  void start(ShardedBlock& block);
  void wait(ShardedBlock& block);
  void release(ShardedBlock& block);
  void walk_forward(const ShardedBlock& block);
  void turn();
  void before_backward(size_t block);
  void walk_backward(int64_t position);
  void prefetch_backward();
  void complete(ShardedBlock& block);
  void complete_down_to(int64_t position);
  void release_down_to(int64_t position);
  ShardedBlock& at_position(int64_t position);
  int64_t length() const;

  Options options_;
  std::vector<ShardedBlock> blocks_;
  std::vector<std::vector<size_t>> sequences_;
  size_t root_ = 0;
  std::unordered_map<const void*, size_t> block_by_param_;

  Phase phase_ = Phase::kNone;
  bool reduces_ = true, is_held_ = false;
  int64_t sequence_ = -1;             ///< of this pass; -1: not known yet
  int64_t next_ = 0;                  ///< position that the forward pass gathers next
  int64_t back_next_ = -1;            ///< the same of the backward pass
  int64_t complete_next_ = -1;        ///< position that is completed next
  int64_t release_next_ = -1;         ///< position that is released next, in the backward pass
  std::vector<FlatUnit*> in_flight_;  ///< whose gradients are on the way
};

}  // namespace flexor::dist
