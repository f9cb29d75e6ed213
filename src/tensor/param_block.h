#pragma once
#include <ATen/core/Tensor.h>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace flexor {

/// Parameters that are used together: those whose names begin with one of `prefixes`.
struct ParamBlock {
  std::vector<std::string> prefixes;
  bool read_in_backward = true;  ///< whether the gradient of the block needs its parameters (that of a table does not)
};

/// How a model goes through its parameters. What is in no list may be read at any time.
struct ModelBlocks {
  /// A forward pass goes through one of the sequences, each block at most once and in this order; blocks may be left
  /// out.
  std::vector<std::vector<ParamBlock>> sequences;
  std::vector<std::string> unread;  ///< beginnings of the names of parameters that no computation reads
};

/// One block for each of `count` layers: SCOPE"layers.0.", SCOPE"layers.1.", ...
std::vector<ParamBlock> layer_blocks(const std::string& scope, size_t count);

/// Told where a model is: who keeps the parameters elsewhere brings them in time. Models announce their blocks through
/// nn::run_block().
class BlockObserver {
 public:
  virtual ~BlockObserver() = default;
  /// The block is about to compute, in the forward pass or again for its gradient. @param parameter  any of the block
  virtual void before_block(const at::Tensor& parameter) = 0;
  /// It has computed `outputs` (some may be undefined); in the backward pass their gradients come before any other
  /// work of the block. Not called when it computes again.
  virtual void after_block(const at::Tensor& parameter, std::span<const at::Tensor> outputs) = 0;
};

/// Who is told, in this process; null: nobody. Set it only while no model computes.
BlockObserver* block_observer();
void set_block_observer(BlockObserver* observer);

}  // namespace flexor
