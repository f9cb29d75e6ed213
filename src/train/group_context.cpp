#include "train/group_context.h"

#include <utility>
#include <vector>

#include "base/str_cat.h"
#include "dist/data_parallel.h"
#include "tensor/tensor.h"

namespace flexor::train {

void GroupContext::begin_step(int64_t step, int64_t) {
  group_->set_label(str_cat("step ", step + 1), "a resumed run goes on from the newest checkpoint");
}

double GroupContext::mean(double value) {
  return group_->all_reduce(value) / static_cast<double>(world());
}

bool GroupContext::any(bool value) {
  return group_->all_reduce(value ? 1.0 : 0.0, dist::ReduceOp::kMax) > 0;
}

double GroupContext::max(double value) {
  return group_->all_reduce(value, dist::ReduceOp::kMax);
}

namespace {

/// Gradients of parameters with a float32 master are summed in float32 over the micro batches of a step
/// (optim::Slot::grad32) and reduced so; those of a step of one micro batch are reduced in their own dtype and become
/// float32 afterwards, as they do in a single process.
class DataParallelContext final : public GroupContext {
 public:
  using GroupContext::GroupContext;

  void begin_step(int64_t step, int64_t branch) override {
    GroupContext::begin_step(step, branch);
    branch_ = branch;
    accumulates_ = false;
  }

  std::unique_ptr<optim::AdamW> make_optimizer(const ModelParts& model, const optim::AdamWConfig& config,
                                               int64_t micro_batches) override {
    has_masters_ = config.master_dtype == "float32";
    return GroupContext::make_optimizer(model, config, micro_batches);
  }

  void begin_micro_batch(bool is_last) override {
    is_last_ = is_last;
    accumulates_ = accumulates_ || !is_last;
  }

  /// Between forward and backward pass.
  void begin_backward(optim::AdamW& optimizer) override {
    if (!is_last_) {
      return;
    }
    if (!reduce_) {
      std::vector<std::pair<std::string, Tensor>> trained;
      for (const optim::Slot& slot : optimizer.slots()) {
        if (slot.param.requires_grad()) {
          trained.emplace_back(slot.name, slot.param);
        }
      }
      reduce_ = std::make_unique<dist::DataParallel>(shared_group(), std::move(trained));
    }
    std::vector<Tensor> sums;
    for (const optim::Slot& slot : optimizer.slots()) {
      if (slot.param.requires_grad()) {
        sums.push_back(slot.grad32);
      }
    }
    reduce_->begin(branch_, std::move(sums), has_masters_ && accumulates_);
  }

  void end_micro_batch(optim::AdamW& optimizer) override {
    if (!is_last_) {
      optimizer.collect_grads();
      return;
    }
    const at::NoGradGuard no_graph;
    const std::vector<Tensor> means = reduce_->finish();
    size_t next = 0;
    for (optim::Slot& slot : optimizer.slots()) {
      if (!slot.param.requires_grad()) {
        continue;
      }
      const Tensor& mean = means[next++];
      if (slot.master.defined()) {
        slot.grad32 = mean.defined() ? mean.to(at::kFloat) : Tensor();
        slot.param.mutable_grad().reset();
      } else {
        slot.param.mutable_grad() = mean;
      }
    }
  }

  void reduce_gradients(optim::AdamW&) override {}  // done, bucket by bucket

 private:
  std::unique_ptr<dist::DataParallel> reduce_;
  int64_t branch_ = 0;
  bool is_last_ = true, accumulates_ = false, has_masters_ = true;
};

}  // namespace

std::unique_ptr<ParallelContext> data_parallel_context(std::shared_ptr<dist::Group> group) {
  return std::make_unique<DataParallelContext>(std::move(group));
}

}  // namespace flexor::train
