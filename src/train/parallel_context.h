#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/named_params.h"
#include "optim/adamw.h"
#include "optim/ema.h"
#include "tensor/param_block.h"

namespace flexor::train {

/// What a context takes over of a model, which outlives it.
struct ModelParts {
  std::vector<std::pair<std::string, at::Tensor*>> params;  ///< in the order of nn::ParamVisitor
  ModelBlocks blocks;
};

/// `Model` has params(nn::ParamVisitor&) and blocks().
template <typename Model>
ModelParts parts_of(Model& model) {
  ModelParts parts{.params = {}, .blocks = model.blocks()};
  nn::for_each_param(model, [&](const std::string& name, at::Tensor& p) { parts.params.emplace_back(name, &p); });
  return parts;
}

/// What the training loop needs from a group of ranks. The loop calls these at fixed places and knows nothing else
/// about ranks, so that data parallelism or sharding is another implementation of this class.
class ParallelContext {
 public:
  virtual ~ParallelContext() = default;
  virtual int64_t rank() const = 0;
  virtual int64_t world() const = 0;
  bool is_main() const { return rank() == 0; }

  /// The optimizer of a model whose weights are there and whose parameters are known to be trained or not. Called once,
  /// before anything else that follows. @param micro_batches  of a step
  virtual std::unique_ptr<optim::AdamW> make_optimizer(const ModelParts& model, const optim::AdamWConfig& config,
                                                       int64_t micro_batches);
  /// Weights were changed through the optimizer's slots: a checkpoint was loaded.
  virtual void weights_loaded() {}

  /// Before the first micro batch of a step. @param step  steps done before  @param branch  as Task::branch()
  virtual void begin_step(int64_t step, int64_t branch) {
    (void)step;
    (void)branch;
  }
  /// Before each forward pass of a step. @param is_last  of the step
  virtual void begin_micro_batch(bool is_last) { (void)is_last; }
  /// Between its forward and its backward pass.
  virtual void begin_backward(optim::AdamW& optimizer) { (void)optimizer; }
  /// After its backward pass.
  virtual void end_micro_batch(optim::AdamW& optimizer) { optimizer.collect_grads(); }
  /// After the last backward pass of a step: gradients become the mean over the ranks.
  virtual void reduce_gradients(optim::AdamW& optimizer) = 0;
  /// After the update, or after the step was skipped.
  virtual void end_step(optim::AdamW& optimizer) { optimizer.zero_grad(); }

  /// Between these calls every rank may run the model without gradient, as often as it likes.
  virtual void hold_weights() {}
  virtual void drop_weights() {}

  using Write = std::function<void(const optim::AdamW& optimizer, const optim::Ema* ema)>;
  /// Called by all ranks: the main one runs `write` with the state of all, in which tensors may be absent
  /// (tensor/absent.h) until they are written.
  virtual void save(const optim::AdamW& optimizer, const optim::Ema* ema, const Write& write);

  /// The mean over the ranks of a number that each has, for logs and for stopping together.
  virtual double mean(double value) = 0;
  /// True on all ranks if it is true on any.
  virtual bool any(bool value) = 0;
  /// The largest of a number that each has.
  virtual double max(double value) { return value; }
  virtual void barrier() = 0;
  /// Seconds that this rank has waited for others, since the start.
  virtual double waited_s() const { return 0; }
};

/// One process, nobody to talk to.
std::unique_ptr<ParallelContext> single_process();

}  // namespace flexor::train
