#include "train/sharded_context.h"

#include <map>
#include <utility>

#include "dist/sharded_params.h"
#include "tensor/tensor.h"
#include "train/group_context.h"

namespace flexor::train {

namespace {

using dist::ShardStage;

/// What of a parameter ShardedParams gathers for a file; 0 is its weights.
enum Kind : int64_t { kWeights = 0, kMaster = 1, kExpAvg = 2, kExpAvgSq = 3, kAverage = 4 };

const std::map<std::string, ShardStage>& stages() {
  static const std::map<std::string, ShardStage> all = {
      {"zero1", ShardStage::kOptimizer},         {"zero2", ShardStage::kGradients},
      {"shard_grad_op", ShardStage::kGradients}, {"zero3", ShardStage::kParameters},
      {"full_shard", ShardStage::kParameters},   {"hybrid", ShardStage::kParameters},
      {"hybrid_shard", ShardStage::kParameters}};
  return all;
}

class ShardedContext final : public GroupContext {
 public:
  ShardedContext(std::shared_ptr<dist::Group> ranks, const std::string& strategy)
      : GroupContext(std::move(ranks)),
        stage_(stages().at(strategy)),
        ranks_per_copy_(strategy.starts_with("hybrid") ? group().launch().local_world : group().world()) {}

  std::unique_ptr<optim::AdamW> make_optimizer(const ModelParts& model, const optim::AdamWConfig& config,
                                               int64_t micro_batches) override;
  void weights_loaded() override { params_->all_gather_weights(); }
  void begin_micro_batch(bool is_last) override { params_->begin_micro_batch(is_last); }
  void end_micro_batch(optim::AdamW&) override { params_->end_micro_batch(); }
  void reduce_gradients(optim::AdamW& optimizer) override;
  void end_step(optim::AdamW& optimizer) override;
  void hold_weights() override { params_->hold_weights(); }
  void drop_weights() override { params_->drop_weights(); }
  void save(const optim::AdamW& optimizer, const optim::Ema* ema, const Write& write) override;

 private:
  optim::AdamW whole_optimizer(const optim::AdamW& shares);
  optim::Ema whole_averages(const optim::AdamW& shares);

  ShardStage stage_;
  int64_t ranks_per_copy_;
  ModelParts model_;
  std::unique_ptr<dist::ShardedParams> params_;
};

std::unique_ptr<optim::AdamW> ShardedContext::make_optimizer(const ModelParts& model, const optim::AdamWConfig& config,
                                                             int64_t micro_batches) {
  model_ = model;
  std::vector<dist::ParamPlace> places;
  for (const auto& [name, place] : model.params) {
    places.push_back({name, place});
  }
  params_ = std::make_unique<dist::ShardedParams>(std::move(places), model.blocks,
                                                  dist::ShardConfig{.stage = stage_,
                                                                    .has_masters = config.master_dtype == "float32",
                                                                    .sums_micro_batches = micro_batches > 1,
                                                                    .ranks_per_copy = ranks_per_copy_},
                                                  shared_group());
  std::vector<std::pair<std::string, Tensor>> shares;
  for (const dist::ParamShare& share : params_->shares()) {
    shares.emplace_back(share.name, share.values);
  }
  auto optimizer = std::make_unique<optim::AdamW>(shares, config);
  for (size_t i = 0; i < shares.size(); ++i) {
    optim::Slot& slot = optimizer->slots()[i];
    slot.shape = params_->shares()[i].shape;
    slot.first = params_->shares()[i].first;
  }
  optimizer->set_norm_sum([params = params_.get()](double squares) { return params->sum(squares); });
  return optimizer;
}

/// Gradients of the shares go where the optimizer looks for them.
void ShardedContext::reduce_gradients(optim::AdamW& optimizer) {
  params_->finish_gradients();
  for (size_t i = 0; i < optimizer.slots().size(); ++i) {
    optim::Slot& slot = optimizer.slots()[i];
    const Tensor gradient = params_->gradient(i);
    if (slot.master.defined()) {
      slot.grad32 = gradient;
    } else if (gradient.defined()) {
      slot.param.mutable_grad() = gradient;
    }
  }
}

void ShardedContext::end_step(optim::AdamW& optimizer) {
  optimizer.zero_grad();
  params_->end_step();
}

/// The optimizer as one process has it: tensors of whole parameters, which are absent.
optim::AdamW ShardedContext::whole_optimizer(const optim::AdamW& shares) {
  std::vector<optim::Slot> slots;
  for (size_t i = 0; i < shares.slots().size(); ++i) {
    optim::Slot slot = shares.slots()[i];
    slot.grad32.reset();
    slot.param = *model_.params[i].second;
    slot.first = 0;
    if (params_->is_divided(i)) {
      const auto whole = [&](Kind kind, Tensor& tensor) {
        tensor = tensor.defined() ? params_->whole(kind, i) : Tensor();
      };
      whole(kMaster, slot.master);
      whole(kExpAvg, slot.exp_avg);
      whole(kExpAvgSq, slot.exp_avg_sq);
    }
    slots.push_back(std::move(slot));
  }
  return {std::move(slots), shares.config()};
}

optim::Ema ShardedContext::whole_averages(const optim::AdamW& shares) {
  std::vector<std::pair<std::string, Tensor>> averages;
  for (size_t i = 0; i < shares.slots().size(); ++i) {
    if (shares.slots()[i].param.requires_grad()) {
      averages.emplace_back(shares.slots()[i].name, params_->whole(kAverage, i));
    }
  }
  return {optim::EmaConfig(), std::move(averages)};
}

void ShardedContext::save(const optim::AdamW& optimizer, const optim::Ema* ema, const Write& write) {
  std::map<size_t, size_t> average_of;  // parameter -> place in the averages
  for (size_t i = 0; ema != nullptr && i < optimizer.slots().size(); ++i) {
    if (optimizer.slots()[i].param.requires_grad()) {
      average_of.emplace(i, average_of.size());
    }
  }
  const auto state = [&](int64_t kind, size_t i) {
    const optim::Slot& slot = optimizer.slots()[i];
    switch (kind) {
      case kMaster:
        return slot.master;
      case kExpAvg:
        return slot.exp_avg;
      case kExpAvgSq:
        return slot.exp_avg_sq;
      case kAverage:
        return ema->averages()[average_of.at(i)].second;
      default:
        return slot.param;
    }
  };
  params_->gather_while(
      [&] {
        const optim::AdamW whole = whole_optimizer(optimizer);
        if (ema == nullptr) {
          write(whole, nullptr);
        } else {
          const optim::Ema averages = whole_averages(optimizer);
          write(whole, &averages);
        }
      },
      state);
  barrier();
}

}  // namespace

bool is_sharded(const std::string& strategy) {
  return stages().contains(strategy);
}

std::unique_ptr<ParallelContext> sharded_context(std::shared_ptr<dist::Group> group, const std::string& strategy) {
  return std::make_unique<ShardedContext>(std::move(group), strategy);
}

}  // namespace flexor::train
