#pragma once
#include <memory>

#include "dist/group.h"
#include "train/parallel_context.h"

namespace flexor::train {

/// What all contexts over a group of ranks share: numbers and signals. Strategies derive from it.
class GroupContext : public ParallelContext {
 public:
  explicit GroupContext(std::shared_ptr<dist::Group> group) : group_(std::move(group)) {}

  int64_t rank() const override { return group_->rank(); }
  int64_t world() const override { return group_->world(); }
  void begin_step(int64_t step, int64_t branch) override;
  double mean(double value) override;
  bool any(bool value) override;
  double max(double value) override;
  double waited_s() const override { return group_->waited_s(); }
  void barrier() override { group_->barrier(); }

 protected:
  dist::Group& group() { return *group_; }
  const std::shared_ptr<dist::Group>& shared_group() const { return group_; }

 private:
  std::shared_ptr<dist::Group> group_;
};

/// parallel.strategy ddp: every rank holds everything, gradients are averaged (dist::DataParallel). Clipping, optimizer
/// and moving averages then work on the same numbers everywhere.
std::unique_ptr<ParallelContext> data_parallel_context(std::shared_ptr<dist::Group> group);

}  // namespace flexor::train
