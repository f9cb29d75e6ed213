#include "dist/sharded_params.h"

#include <algorithm>
#include <map>
#include <string>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "tensor/block_pool.h"
#include "tensor/large_buffer.h"
#include "tensor/tensor.h"

namespace flexor::dist {
namespace {

struct AfterAccumulation final : torch::autograd::PostAccumulateGradHook {
  explicit AfterAccumulation(std::function<void(const Tensor&)> f) : call(std::move(f)) {}
  void operator()(const Tensor& parameter) override { call(parameter); }
  std::function<void(const Tensor&)> call;
};

bool begins_with_any(const std::string& name, const std::vector<std::string>& prefixes) {
  return std::ranges::any_of(prefixes, [&](const std::string& prefix) { return name.starts_with(prefix); });
}

/// Ranks first, first + step, ... below end.
std::vector<int64_t> every(int64_t first, int64_t end, int64_t step) {
  std::vector<int64_t> ranks;
  for (int64_t rank = first; rank < end; rank += step) {
    ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

ShardedParams::ShardedParams(std::vector<ParamPlace> params, const ModelBlocks& blocks, const ShardConfig& config,
                             std::shared_ptr<Group> world)
    : params_(std::move(params)),
      config_(config),
      world_(std::move(world)),
      pass_({.shard_weights = config.stage == ShardStage::kParameters}),
      homes_(params_.size()),
      shares_(params_.size()),
      touched_(params_.size()) {
  use_block_pool();
  make_groups(*world_);
  make_blocks(blocks);
  trim_heap();  // the parameters stood there one by one
  set_block_observer(&pass_);
}

ShardedParams::~ShardedParams() {
  if (block_observer() == &pass_) {
    set_block_observer(nullptr);
  }
}

void ShardedParams::make_groups(Group& world) {
  const int64_t size = config_.ranks_per_copy;
  const auto least = static_cast<int64_t>(world.all_reduce(static_cast<double>(size), ReduceOp::kMin)),
             most = static_cast<int64_t>(world.all_reduce(static_cast<double>(size), ReduceOp::kMax));
  if (least != most || size < 1 || world.world() % size != 0) {
    throw Error(ErrorKind::kConfig,
                str_cat("hybrid sharding needs the same number of ranks on every node, found ", least, " to ", most,
                        " on a node and ", world.world(), " in all"),
                "parallel.strategy", "zero3 divides among all ranks");
  }
  copy_ = world.rank() / size;
  const std::vector<int64_t> mine = every(copy_ * size, (copy_ + 1) * size, 1);
  groups_.world = world.world();
  groups_.weights = world.sub_group(mine, "weights");
  groups_.gradients = world.sub_group(mine, "gradients");
  if (size < world.world()) {
    groups_.replicas = world.sub_group(every(world.rank() % size, world.world(), size), "replicas");
  }
}

void ShardedParams::make_blocks(const ModelBlocks& blocks) {
  std::vector<bool> taken(params_.size());
  std::unordered_map<const void*, int64_t> names;  // of each tensor; tied ones may be read in several blocks
  for (const ParamPlace& param : params_) {
    ++names[param.place->unsafeGetTensorImpl()];
  }
  const auto is_tied = [&](const ParamPlace& p) { return names.at(p.place->unsafeGetTensorImpl()) > 1; };
  const auto take = [&](const auto& wanted) {
    std::vector<size_t> found;
    for (size_t i = 0; i < params_.size(); ++i) {
      if (!taken[i] && wanted(params_[i])) {
        taken[i] = true;
        found.push_back(i);
      }
    }
    return found;
  };
  std::vector<std::vector<size_t>> sequences;
  for (size_t s = 0; s < blocks.sequences.size(); ++s) {
    std::vector<size_t>& numbers = sequences.emplace_back();
    bool reached = false;  // by the backward pass: some parameter is trained in
                           // this block or an earlier one
    for (const ParamBlock& block : blocks.sequences[s]) {
      const auto members =
          take([&](const ParamPlace& p) { return !is_tied(p) && begins_with_any(p.name, block.prefixes); });
      reached = reached || std::ranges::any_of(members, [&](size_t i) { return params_[i].place->requires_grad(); });
      numbers.push_back(add_block(members, reached && block.read_in_backward));
      pass_.blocks().back().sequence = s;
      pass_.blocks().back().position = numbers.size() - 1;
    }
  }
  const auto unread = take([&](const ParamPlace& p) {
    return !is_tied(p) && !p.place->requires_grad() && begins_with_any(p.name, blocks.unread);
  });
  pass_.blocks()[add_block(unread, false)].is_read = false;
  pass_.set_root(add_block(take([](const ParamPlace&) { return true; }), true));
  pass_.set_sequences(std::move(sequences));
}

/// Parameters of a block, by dtype and whether they are trained.
size_t ShardedParams::add_block(const std::vector<size_t>& params, bool read_in_backward) {
  const size_t number = pass_.blocks().size();
  pass_.blocks().emplace_back().read_in_backward = read_in_backward;
  std::map<std::pair<bool, at::ScalarType>, std::vector<size_t>> kinds;
  for (const size_t i : params) {
    const Tensor& parameter = *params_[i].place;
    if (parameter.requires_grad() || config_.stage == ShardStage::kParameters) {
      kinds[{parameter.requires_grad(), parameter.scalar_type()}].push_back(i);
    } else {
      shares_[i] = {params_[i].name, parameter.sizes().vec(), 0, parameter};
    }
  }
  for (const auto& [kind, members] : kinds) {
    add_units(number, members);
  }
  for (const size_t i : params) {
    pass_.add_param(*params_[i].place, number);
  }
  watch(number);
  return number;
}

void ShardedParams::add_units(size_t block, const std::vector<size_t>& params) {
  std::vector<ParamPlace> places;
  std::unordered_map<const void*, ParamPlace> first_of;  // tied parameters: one tensor, several names
  std::vector<std::pair<size_t, ParamPlace>> tied;
  for (const size_t i : params) {
    const auto [found, is_new] = first_of.try_emplace(params_[i].place->unsafeGetTensorImpl(), params_[i]);
    if (is_new) {
      places.push_back(params_[i]);
      places.back().index = i;
    } else {
      tied.emplace_back(i, found->second);
    }
  }
  const bool trained = places.front().place->requires_grad();
  const bool is_low = places.front().place->scalar_type() != at::kFloat;
  auto& units = pass_.blocks()[block].units;
  const size_t number = units.size();
  units.push_back(std::make_unique<FlatUnit>(
      places,
      FlatOptions{.trained = trained,
                  .shard_weights = config_.stage == ShardStage::kParameters,
                  .keep_gradients = config_.stage == ShardStage::kOptimizer,
                  .has_masters = config_.has_masters && is_low,
                  .sums_micro_batches = config_.sums_micro_batches,
                  .fetch = [this, block, number](
                               int64_t first, int64_t) { return fetch(*pass_.blocks()[block].units[number], first); }},
      groups_, *world_));
  FlatUnit& unit = *units.back();
  for (size_t p = 0; p < unit.parts().size(); ++p) {
    const size_t i = unit.parts()[p].param.index;
    homes_[i] = {&unit, p};
    shares_[i] = unit.share_of(unit.parts()[p]);
  }
  for (const auto& [i, first] : tied) {  // updated under its first name
    *params_[i].place = *first.place;
    shares_[i] = {params_[i].name, first.place->sizes().vec(), 0, at::empty({0}, first.place->options())};
  }
}

/// Gradients go to the units as they come.
void ShardedParams::watch(size_t block) {
  auto& units = pass_.blocks()[block].units;
  for (size_t u = 0; u < units.size(); ++u) {
    if (!units[u]->options().trained) {
      continue;
    }
    for (size_t p = 0; p < units[u]->parts().size(); ++p) {
      const size_t index = units[u]->parts()[p].param.index;
      ++pass_.blocks()[block].num_trained;
      torch::autograd::impl::set_post_acc_grad_hooks(
          *params_[index].place,
          std::make_unique<AfterAccumulation>([this, block, u, p, index](const Tensor& parameter) {
            touched_[index] = true;
            pass_.on_gradient(block, u, p, parameter.mutable_grad());
          }));
    }
  }
}

void ShardedParams::finish_gradients() {
  pass_.finish_reducing();
  for (ShardedBlock& block : pass_.blocks()) {
    for (const auto& unit : block.units) {
      unit->finish_step();
    }
  }
  if (world_->world() > 1) {
    std::vector<float> flags(touched_.begin(), touched_.end());
    const Tensor all = at::tensor(flags, at::kFloat);
    world_->all_reduce(all, ReduceOp::kMax);
    for (size_t i = 0; i < touched_.size(); ++i) {
      touched_[i] = all.const_data_ptr<float>()[i] > 0;
    }
  }
}

Tensor ShardedParams::gradient(size_t index) const {
  const Home& home = homes_[index];
  if (home.unit == nullptr || !touched_[index]) {
    return {};
  }
  return home.unit->gradient_of(home.unit->parts()[home.part]);
}

void ShardedParams::end_step() {
  std::fill(touched_.begin(), touched_.end(), false);
  for (ShardedBlock& block : pass_.blocks()) {
    for (const auto& unit : block.units) {
      unit->drop_gradients();
    }
  }
  all_gather_weights();
}

void ShardedParams::all_gather_weights() {
  if (config_.stage != ShardStage::kParameters) {
    for (ShardedBlock& block : pass_.blocks()) {
      for (const auto& unit : block.units) {
        unit->all_gather_weights();
      }
    }
  }
}

}  // namespace flexor::dist
