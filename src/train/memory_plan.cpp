#include "train/memory_plan.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "tensor/tensor.h"
#include "train/shard_sketch.h"
#include "train/sharded_context.h"

namespace flexor::train {
namespace {

using models::MemoryLedger;
using models::MemoryUse;
using Held = MemoryLedger::Held;

/// Gradients of a training without division: of one process, or copied into the buckets of c10d::Reducer.
class PlainGradients final : public models::SketchObserver {
 public:
  PlainGradients(MemoryLedger& ledger, bool has_buckets) : ledger_(ledger), has_buckets_(has_buckets) {}

  void before_block(const Tensor&) override {}
  void after_block(const Tensor&) override {}
  void before_backward(const Tensor&) override {}
  void on_gradient(const at::TensorImpl* parameter, Held bytes) override {
    arrived_.insert(parameter);
    Held& own = own_[parameter];
    if (!own && !buckets_.contains(parameter)) {
      bytes->become(MemoryUse::kGradients);
      own = std::move(bytes);
    }
  }

  /// After a backward pass: gradients of parameters with masters become float32 sums.
  void collect(const std::function<bool(const at::TensorImpl*)>& has_master) {
    for (const at::TensorImpl* parameter : arrived_) {
      if (has_master(parameter)) {
        widen(parameter);
        own_.erase(parameter);
      }
    }
  }
  /// After the last one with several ranks: sums are reduced in buffers of their own, others in buckets that stay.
  void reduce(const std::function<bool(const at::TensorImpl*)>& has_master, bool has_sums) {
    std::map<const at::TensorImpl*, Held> sent;
    for (const at::TensorImpl* parameter : arrived_) {
      const bool is_wide = has_sums && has_master(parameter);
      if (is_wide || !buckets_.contains(parameter)) {
        sent[parameter] = ledger_.hold(MemoryUse::kCommunication, bytes_of(parameter, is_wide));
      }
    }
    own_.clear();
    for (const at::TensorImpl* parameter : arrived_) {
      if (has_master(parameter)) {
        if (has_sums) {
          wide_[parameter] = std::move(sent[parameter]);
        } else {
          widen(parameter);
        }
      }
    }
  }
  void drop() {
    own_.clear();
    wide_.clear();
    for (const at::TensorImpl* parameter : arrived_) {  // the Reducer is made after the first step
      if (has_buckets_ && !buckets_.contains(parameter)) {
        buckets_[parameter] = ledger_.hold(MemoryUse::kGradients, bytes_of(parameter, false));
      }
    }
  }
  const std::set<const at::TensorImpl*>& arrived() const { return arrived_; }

 private:
  static double bytes_of(const at::TensorImpl* parameter, bool wide) {
    return static_cast<double>(parameter->numel()) *
           static_cast<double>(wide ? sizeof(float) : parameter->dtype().itemsize());
  }
  void widen(const at::TensorImpl* parameter) {
    Held& sum = wide_[parameter];
    if (!sum) {
      sum = ledger_.hold(MemoryUse::kGradients, bytes_of(parameter, true));
    }
  }

  MemoryLedger& ledger_;
  bool has_buckets_;
  std::set<const at::TensorImpl*> arrived_;
  std::map<const at::TensorImpl*, Held> own_, wide_, buckets_;
};

class StepSketch {
 public:
  StepSketch(const ModelParts& model, const MemorySetup& setup) : model_(model), setup_(setup), tape_(ledger_) {
    hold_weights();
    held_.push_back(ledger_.hold(MemoryUse::kBatch, setup.batch_bytes));
    held_.push_back(ledger_.hold(MemoryUse::kProgram, setup.program_bytes));
    const bool is_divided = shards_ != nullptr;
    tape_.set_observer(is_divided ? static_cast<models::SketchObserver*>(shards_.get()) : plain_.get());
    for (const auto& [name, place] : model_.params) {
      if (place->requires_grad()) {
        const double count = share(*place);
        if (has_master(place->unsafeGetTensorImpl())) {
          held_.push_back(ledger_.hold(MemoryUse::kMasters, count * sizeof(float)));
        }
        if (setup_.has_ema) {
          held_.push_back(ledger_.hold(MemoryUse::kAverages, count * sizeof(float)));
        }
      }
    }
  }

  /// @param kept  what autograd keeps, filled in the last micro batch
  void run(const SketchForward& forward, MemoryPlan& plan) {
    ledger_.forget_peak();
    for (int64_t i = 0; i < setup_.micro_batches; ++i) {
      const bool is_last = i + 1 == setup_.micro_batches;
      if (shards_) {
        shards_->begin(is_last || !keeps_gradients());
      }
      ledger_.set_phase("forward pass");
      const models::SketchTensor loss = forward(tape_);
      plan.activations = ledger_.activations();
      ledger_.set_phase("backward pass");
      tape_.backward(loss);
      finish_micro_batch(is_last);
    }
    update();
  }

  MemoryLedger& ledger() { return ledger_; }

 private:
  bool keeps_gradients() const { return setup_.strategy == "zero1"; }
  bool shards_weights() const { return is_sharded(setup_.strategy) && !keeps_gradients() && !is_zero2(); }
  bool is_zero2() const { return setup_.strategy == "zero2" || setup_.strategy == "shard_grad_op"; }

  void hold_weights() {
    if (is_sharded(setup_.strategy) && setup_.world > 1) {
      const bool is_hybrid = setup_.strategy.starts_with("hybrid") && setup_.ranks_per_copy > 0;
      shards_ =
          std::make_unique<ShardSketch>(model_,
                                        ShardSketch::Options{.keep_gradients = keeps_gradients(),
                                                             .shard_weights = shards_weights(),
                                                             .has_masters = setup_.has_masters,
                                                             .sums_micro_batches = setup_.micro_batches > 1,
                                                             .unread_is_mapped = setup_.unread_is_mapped,
                                                             .ranks = is_hybrid ? setup_.ranks_per_copy : setup_.world},
                                        ledger_);
      return;
    }
    plain_ = std::make_unique<PlainGradients>(ledger_, setup_.world > 1);
    for (const auto& [name, place] : model_.params) {
      const auto starts = [&n = name](const std::string& prefix) { return n.starts_with(prefix); };
      const bool is_unread = !place->requires_grad() && std::ranges::any_of(model_.blocks.unread, starts);
      if (!(is_unread && setup_.unread_is_mapped)) {
        held_.push_back(ledger_.hold(MemoryUse::kWeights, static_cast<double>(place->nbytes())));
      }
    }
  }

  double share(const Tensor& parameter) const {
    return shards_ ? shards_->share_of(parameter.unsafeGetTensorImpl()) : static_cast<double>(parameter.numel());
  }
  bool has_master(const at::TensorImpl* parameter) const {
    return setup_.has_masters && parameter->dtype().itemsize() < sizeof(float);
  }

  void finish_micro_batch(bool is_last) {
    ledger_.set_phase("gradients");
    const auto masters = [this](const at::TensorImpl* p) { return has_master(p); };
    if (shards_) {
      shards_->end();
      if (is_last) {
        shards_->finish_gradients();
      }
    } else if (is_last && setup_.world > 1) {
      plain_->reduce(masters, setup_.micro_batches > 1);
    } else {
      plain_->collect(masters);
    }
  }

  /// Moments appear with the first update.
  void update() {
    ledger_.set_phase("optimizer");
    if (moments_.empty()) {
      for (const auto& [name, place] : model_.params) {
        const at::TensorImpl* parameter = place->unsafeGetTensorImpl();
        if (place->requires_grad() && (shards_ || plain_->arrived().contains(parameter))) {
          const double element = has_master(parameter) ? sizeof(float) : static_cast<double>(place->element_size());
          moments_.push_back(ledger_.hold(MemoryUse::kMoments, 2 * share(*place) * element));
        }
      }
    }
    if (shards_) {
      shards_->drop_gradients();
    } else {
      plain_->drop();
    }
  }

  const ModelParts& model_;
  const MemorySetup& setup_;
  MemoryLedger ledger_;
  models::MemoryTape tape_;
  std::unique_ptr<ShardSketch> shards_;
  std::unique_ptr<PlainGradients> plain_;
  std::vector<Held> held_, moments_;
};

}  // namespace

MemoryPlan plan_memory(const ModelParts& model, const SketchForward& forward, const MemorySetup& setup) {
  MemoryPlan plan;
  for (const auto& [name, place] : model.params) {
    plan.parameters += static_cast<double>(place->numel());
    plan.trained += place->requires_grad() ? static_cast<double>(place->numel()) : 0.0;
  }
  StepSketch step(model, setup);
  step.run(forward, plan);
  plan.first_step = step.ledger().peak().total();
  step.run(forward, plan);
  plan.peak = step.ledger().peak();
  plan.resting = step.ledger().now();
  std::erase_if(plan.activations, [](const auto& block) { return block.second <= 0; });
  return plan;
}

}  // namespace flexor::train
