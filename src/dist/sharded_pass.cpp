#include "dist/sharded_pass.h"

#include <algorithm>

#include "base/error.h"
#include "base/str_cat.h"
#include "tensor/tensor.h"

namespace flexor::dist {
void ShardedPass::add_param(const Tensor& parameter, size_t block) {
  block_by_param_[parameter.unsafeGetTensorImpl()] = block;
}

size_t ShardedPass::block_of(const Tensor& parameter) const {
  const auto found = block_by_param_.find(parameter.unsafeGetTensorImpl());
  if (found == block_by_param_.end()) {
    throw Error(
        ErrorKind::kRuntime,
        str_cat("a block announced a parameter of shape ", str_cat(parameter.sizes()), " that is not the model's"),
        "sharded model");
  }
  return found->second;
}

ShardedBlock& ShardedPass::at_position(int64_t position) {
  return blocks_[sequences_[static_cast<size_t>(sequence_)][static_cast<size_t>(position)]];
}

int64_t ShardedPass::length() const {
  return sequence_ < 0 ? 0 : static_cast<int64_t>(sequences_[static_cast<size_t>(sequence_)].size());
}

void ShardedPass::start(ShardedBlock& block) {
  if (options_.shard_weights) {
    for (const auto& unit : block.units) {
      unit->start_gather();
    }
  }
}

void ShardedPass::wait(ShardedBlock& block) {
  for (const auto& unit : block.units) {
    unit->wait_gather();
  }
}

void ShardedPass::release(ShardedBlock& block) {
  if (options_.shard_weights && !is_held_) {
    for (const auto& unit : block.units) {
      unit->release();
    }
  }
}

void ShardedPass::begin(bool reduces) {
  phase_ = Phase::kForward;
  reduces_ = reduces;
  sequence_ = sequences_.size() == 1 ? 0 : -1;
  next_ = 0;
  for (ShardedBlock& block : blocks_) {
    block.arrived = 0;
    block.is_complete = false;
  }
  start(blocks_[root_]);
  if (length() > 0) {
    start(at_position(0));
  }
  wait(blocks_[root_]);
}

void ShardedPass::before_block(const Tensor& parameter) {
  ShardedBlock& block = blocks_[block_of(parameter)];
  if (phase_ == Phase::kForward && !is_held_) {
    walk_forward(block);
  }
  start(block);
  wait(block);
}

/// Gathers all blocks up to this one, and starts the next.
void ShardedPass::walk_forward(const ShardedBlock& block) {
  if (sequence_ < 0) {
    sequence_ = static_cast<int64_t>(block.sequence);
  }
  const auto position = static_cast<int64_t>(block.position);
  for (; next_ < position; ++next_) {
    ShardedBlock& skipped = at_position(next_);
    start(skipped);
    release(skipped);
  }
  if (next_ == position) {
    start(at_position(next_++));
    if (next_ < length()) {
      start(at_position(next_));
    }
  }
}

void ShardedPass::after_block(const Tensor& parameter, std::span<const Tensor> outputs) {
  const size_t number = block_of(parameter);
  ShardedBlock& block = blocks_[number];
  const bool is_training = phase_ == Phase::kForward && at::GradMode::is_enabled();
  if (is_training) {
    for (const Tensor& output : outputs) {
      if (output.defined() && output.requires_grad()) {
        output.register_hook([this, number](const Tensor&) { before_backward(number); });
      }
    }
  }
  const bool is_last = static_cast<int64_t>(block.position) + 1 == length();
  if (!(is_training && is_last)) {  // the backward pass begins with it
    release(block);
  }
}

/// The forward pass is over.
void ShardedPass::turn() {
  for (; next_ < length(); ++next_) {
    ShardedBlock& skipped = at_position(next_);
    start(skipped);
    if (next_ + 1 < length()) {
      release(skipped);
    }
  }
  phase_ = Phase::kBackward;
  back_next_ = complete_next_ = release_next_ = length() - 1;
}

void ShardedPass::before_backward(size_t number) {
  ShardedBlock& block = blocks_[number];
  if (phase_ == Phase::kForward) {
    turn();
  }
  const auto position = static_cast<int64_t>(block.position);
  complete_down_to(position + 1);
  release_down_to(std::max(position, back_next_) + 1);  // what is gathered ahead was not passed yet
  walk_backward(position);
  if (block.read_in_backward && !block.is_complete) {
    start(block);
    wait(block);
  }
}

/// Gathers all blocks down to this position, and starts the one before it. @param position  -1: beyond the first
void ShardedPass::walk_backward(int64_t position) {
  for (; back_next_ > position; --back_next_) {
    if (ShardedBlock& skipped = at_position(back_next_); skipped.read_in_backward) {
      start(skipped);
      release(skipped);
    }
  }
  if (position >= 0 && back_next_ == position) {
    if (ShardedBlock& block = at_position(back_next_); block.read_in_backward) {
      start(block);
    }
    --back_next_;
    prefetch_backward();
  }
}

void ShardedPass::prefetch_backward() {
  for (int64_t position = back_next_; position >= 0; --position) {
    if (ShardedBlock& block = at_position(position); block.read_in_backward) {
      start(block);
      return;
    }
  }
}

void ShardedPass::on_gradient(size_t number, size_t unit, size_t part, Tensor& grad) {
  ShardedBlock& block = blocks_[number];
  if (block.is_complete) {
    throw Error(ErrorKind::kRuntime,
                str_cat("parameter ", block.units[unit]->parts()[part].param.name,
                        " got a gradient after those of its block were reduced"),
                "sharded model", "the parameter is used outside of its block");
  }
  block.units[unit]->add_gradient(part, grad);
  if (++block.arrived == block.num_trained && number != root_) {
    complete_down_to(static_cast<int64_t>(block.position));
  }
}

void ShardedPass::complete_down_to(int64_t position) {
  for (; complete_next_ >= position; --complete_next_) {
    complete(at_position(complete_next_));
  }
}

/// Not where gradients have all come: frozen weights beside them may still be
/// needed for those of the inputs.
void ShardedPass::release_down_to(int64_t position) {
  for (; release_next_ >= position; --release_next_) {
    release(at_position(release_next_));
  }
}

void ShardedPass::complete(ShardedBlock& block) {
  block.is_complete = true;
  if (!reduces_) {
    return;
  }
  finish_reducing();  // of the block before: one at a time keeps its gradients twice in memory, sent and received
  for (const auto& unit : block.units) {
    if (unit->options().trained) {
      unit->start_reduce();
      in_flight_.push_back(unit.get());
    }
  }
}

void ShardedPass::end() {
  if (phase_ == Phase::kForward) {
    turn();
  }
  walk_backward(-1);
  complete_down_to(0);
  release_down_to(0);
  complete(blocks_[root_]);
  release(blocks_[root_]);
  phase_ = Phase::kNone;
}

void ShardedPass::finish_reducing() {
  for (FlatUnit* unit : in_flight_) {
    unit->finish_reduce();
  }
  in_flight_.clear();
}

void ShardedPass::hold_weights() {
  for (ShardedBlock& block : blocks_) {
    if (block.is_read) {
      start(block);
    }
    wait(block);
  }
  is_held_ = true;
}

void ShardedPass::wait_weights() {
  for (ShardedBlock& block : blocks_) {
    wait(block);
  }
}

void ShardedPass::drop_weights() {
  is_held_ = false;
  for (ShardedBlock& block : blocks_) {
    release(block);
  }
}

}  // namespace flexor::dist
