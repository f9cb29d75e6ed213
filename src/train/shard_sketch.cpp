#include "train/shard_sketch.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "tensor/tensor.h"

namespace flexor::train {
namespace {

using models::MemoryUse;
using Params = std::vector<std::pair<size_t, Tensor>>;

constexpr double kShardAlignment = 512;  // bytes, as dist/flat_unit.cpp

double round_to(double value, double multiple) {
  return std::ceil(value / multiple) * multiple;
}

}  // namespace

ShardSketch::ShardSketch(const ModelParts& model, const Options& options, models::MemoryLedger& ledger)
    : options_(options), ledger_(ledger) {
  std::vector<bool> taken(model.params.size());
  const auto take = [&](const std::vector<std::string>* prefixes) {
    Params found;
    for (size_t i = 0; i < model.params.size(); ++i) {
      const std::string& name = model.params[i].first;
      const auto& place = model.params[i].second;
      const auto starts = [&](const std::string& prefix) { return name.starts_with(prefix); };
      if (!taken[i] && (prefixes == nullptr || std::ranges::any_of(*prefixes, starts))) {
        taken[i] = true;
        found.emplace_back(i, *place);
      }
    }
    return found;
  };
  bool reached = false;
  for (const ParamBlock& block : model.blocks.sequences.front()) {
    const Params members = take(&block.prefixes);
    reached = reached || std::ranges::any_of(members, [](const auto& p) { return p.second.requires_grad(); });
    add_block(members, reached && block.read_in_backward, static_cast<int64_t>(blocks_.size()));
  }
  Params unread, rest;
  for (const auto& member : take(nullptr)) {
    const std::string& name = model.params[member.first].first;
    const auto starts = [&](const std::string& prefix) { return name.starts_with(prefix); };
    const bool is_unread = !member.second.requires_grad() && std::ranges::any_of(model.blocks.unread, starts);
    (is_unread ? unread : rest).push_back(member);
  }
  for (const auto& [i, parameter] : unread) {
    if (options_.unread_is_mapped && !options_.shard_weights) {
      continue;
    }
    const double share = options_.shard_weights ? static_cast<double>(options_.ranks) : 1.0;
    whole_.push_back(ledger_.hold(MemoryUse::kWeights, static_cast<double>(parameter.nbytes()) / share));
  }
  add_block(rest, true, -1);
}

void ShardSketch::add_block(const Params& params, bool read_in_backward, int64_t position) {
  const size_t number = blocks_.size();
  Block& block = blocks_.emplace_back();
  block.position = position;
  block.read_in_backward = read_in_backward;
  std::map<std::pair<bool, at::ScalarType>, Params> kinds;
  for (const auto& [i, parameter] : params) {
    if (parameter.requires_grad() || options_.shard_weights) {
      kinds[{parameter.requires_grad(), parameter.scalar_type()}].emplace_back(i, parameter);
    } else {
      whole_.push_back(ledger_.hold(MemoryUse::kWeights, static_cast<double>(parameter.nbytes())));
    }
  }
  for (const auto& [kind, members] : kinds) {
    Unit unit;
    unit.element = static_cast<double>(c10::elementSize(kind.second));
    unit.trained = kind.first;
    const double alignment = kShardAlignment / unit.element;
    for (const auto& [i, parameter] : members) {
      unit.count += round_to(static_cast<double>(parameter.numel()), alignment);
      homes_[parameter.unsafeGetTensorImpl()] = {number, block.units.size()};
      block.num_trained += kind.first ? 1 : 0;
    }
    const auto ranks = static_cast<double>(options_.ranks);
    unit.count = ranks * round_to(std::ceil(unit.count / ranks), alignment);
    unit.weights =
        ledger_.hold(MemoryUse::kWeights, unit.count * unit.element / (options_.shard_weights ? ranks : 1.0));
    block.units.push_back(std::move(unit));
  }
}

double ShardSketch::share_of(const at::TensorImpl* parameter) const {
  const auto count = static_cast<double>(parameter->numel());
  return homes_.contains(parameter) ? count / static_cast<double>(options_.ranks) : count;
}

double ShardSketch::gradient_element(const Unit& unit) const {
  const bool wide = options_.keep_gradients && options_.sums_micro_batches && options_.has_masters;
  return wide ? sizeof(float) : unit.element;
}

void ShardSketch::gather(Block& block) {
  for (Unit& unit : block.units) {
    if (options_.shard_weights && !unit.gathered) {
      unit.gathered = ledger_.hold(MemoryUse::kCommunication, unit.count * unit.element);
    }
  }
}

void ShardSketch::release(Block& block) {
  for (Unit& unit : block.units) {
    unit.gathered.reset();
  }
}

void ShardSketch::begin(bool reduces) {
  is_forward_ = true;
  reduces_ = reduces;
  next_ = 0;
  for (Block& block : blocks_) {
    block.arrived = 0;
    block.is_complete = false;
  }
  gather(blocks_.back());
  if (length() > 0) {
    gather(blocks_.front());
  }
}

void ShardSketch::walk_forward(int64_t position) {
  for (; next_ < position; ++next_) {
    release(blocks_[static_cast<size_t>(next_)]);
  }
  if (next_ == position) {
    gather(blocks_[static_cast<size_t>(next_++)]);
    if (next_ < length()) {
      gather(blocks_[static_cast<size_t>(next_)]);
    }
  }
}

void ShardSketch::before_block(const Tensor& parameter) {
  Block& block = blocks_[homes_.at(parameter.unsafeGetTensorImpl()).first];
  if (is_forward_) {
    walk_forward(block.position);
  }
  gather(block);
}

void ShardSketch::after_block(const Tensor& parameter) {
  Block& block = blocks_[homes_.at(parameter.unsafeGetTensorImpl()).first];
  if (!is_forward_ || block.position + 1 < length()) {
    release(block);
  }
}

void ShardSketch::turn() {
  is_forward_ = false;
  back_next_ = complete_next_ = release_next_ = length() - 1;
}

void ShardSketch::before_backward(const Tensor& parameter) {
  if (is_forward_) {
    turn();
  }
  Block& block = blocks_[homes_.at(parameter.unsafeGetTensorImpl()).first];
  complete_down_to(block.position + 1);
  release_down_to(std::max(block.position, back_next_) + 1);
  walk_backward(block.position);
  if (block.read_in_backward && !block.is_complete) {
    gather(block);
  }
}

void ShardSketch::walk_backward(int64_t position) {
  back_next_ = std::min(back_next_, position);
  if (position >= 0 && back_next_ == position) {
    --back_next_;
    for (int64_t i = back_next_; i >= 0; --i) {
      if (blocks_[static_cast<size_t>(i)].read_in_backward) {
        gather(blocks_[static_cast<size_t>(i)]);
        return;
      }
    }
  }
}

void ShardSketch::on_gradient(const at::TensorImpl* parameter, Held) {
  const auto [number, u] = homes_.at(parameter);
  Block& block = blocks_[number];
  Unit& unit = block.units[u];
  if (!unit.gradients) {
    unit.gradients = ledger_.hold(MemoryUse::kGradients, unit.count * gradient_element(unit));
  }
  if (++block.arrived == block.num_trained && block.position >= 0) {
    complete_down_to(block.position);
  }
}

void ShardSketch::complete_down_to(int64_t position) {
  for (; complete_next_ >= position; --complete_next_) {
    complete(blocks_[static_cast<size_t>(complete_next_)]);
  }
}

void ShardSketch::release_down_to(int64_t position) {
  for (; release_next_ >= position; --release_next_) {
    release(blocks_[static_cast<size_t>(release_next_)]);
  }
}

void ShardSketch::complete(Block& block) {
  block.is_complete = true;
  if (!reduces_) {
    return;
  }
  finish_reducing();
  for (Unit& unit : block.units) {
    if (unit.trained) {
      unit.received = options_.ranks == 1
                          ? unit.gradients
                          : ledger_.hold(MemoryUse::kCommunication, unit.count * gradient_element(unit));
      in_flight_.push_back(&unit);
    }
  }
}

void ShardSketch::finish_reducing() {
  for (Unit* unit : in_flight_) {
    if (!options_.keep_gradients) {
      unit->gradients.reset();
    }
    const Held sum =
        ledger_.hold(MemoryUse::kGradients, unit->count / static_cast<double>(options_.ranks) * sizeof(float));
    unit->received.reset();
    if (!options_.has_masters && unit->element < sizeof(float) && !unit->own_gradient) {
      unit->own_gradient =
          ledger_.hold(MemoryUse::kGradients, unit->count / static_cast<double>(options_.ranks) * unit->element);
    } else if (!unit->own_gradient) {
      unit->own_gradient = sum;
    }
  }
  in_flight_.clear();
}

void ShardSketch::end() {
  if (is_forward_) {
    turn();
  }
  complete_down_to(0);
  release_down_to(0);
  complete(blocks_.back());
  release(blocks_.back());
}

void ShardSketch::finish_gradients() {
  finish_reducing();
}

void ShardSketch::drop_gradients() {
  for (Block& block : blocks_) {
    for (Unit& unit : block.units) {
      unit.own_gradient.reset();
    }
  }
}

}  // namespace flexor::train
