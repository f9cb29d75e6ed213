// Whole tensors out of shares, one at a time, for files that rank 0 writes.
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "dist/sharded_params.h"
#include "tensor/absent.h"
#include "tensor/tensor.h"

namespace flexor::dist {
namespace {

/// What rank 0 asks of the others: [order, kind, parameter].
enum Order : int64_t { kBring = 1, kDone = 2, kFailed = 3 };

Tensor order_message(int64_t order, int64_t kind, int64_t index) {
  return at::tensor({order, kind, index}, at::kLong);
}

}  // namespace

void ShardedParams::gather_while(const std::function<void()>& write, StateOf state) {
  state_ = std::move(state);
  pass_.wait_weights();
  std::exception_ptr failure;
  int64_t outcome = kDone;
  if (world_->is_main()) {
    try {
      write();
    } catch (...) {
      failure = std::current_exception();
      outcome = kFailed;
    }
    send_order(outcome, 0, 0);
  } else if (copy_ == 0) {
    outcome = help();
  }
  state_ = nullptr;
  if (groups_.replicas) {  // ranks of other copies had nothing to bring
    const Tensor message = order_message(outcome, 0, 0);
    world_->broadcast(message);
    outcome = message.const_data_ptr<int64_t>()[0];
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
  if (outcome == kFailed) {
    throw Error(ErrorKind::kRuntime, "rank 0 could not write", "checkpoint", "its own message says why");
  }
}

void ShardedParams::send_order(int64_t order, int64_t kind, size_t index) {
  if (groups_.weights->world() > 1) {
    groups_.weights->broadcast(order_message(order, kind, static_cast<int64_t>(index)));
  }
}

/// Brings what rank 0 asks for, until it is done or has failed.
int64_t ShardedParams::help() {
  const at::NoGradGuard no_graph;
  while (true) {
    const Tensor message = order_message(0, 0, 0);
    groups_.weights->broadcast(message);
    const int64_t* order = message.const_data_ptr<int64_t>();
    if (order[0] != kBring) {
      return order[0];
    }
    exchange(order[1], static_cast<size_t>(order[2]));
  }
}

/// Every rank sends its share to all: the tensor on rank 0, nothing elsewhere.
Tensor ShardedParams::exchange(int64_t kind, size_t index) {
  const Home& home = homes_[index];
  const FlatUnit::Part& part = home.unit->parts()[home.part];
  const Tensor mine = state_(kind, index);
  const bool is_main = groups_.weights->rank() == 0;
  Tensor whole = is_main ? at::empty(part.shape, mine.options().requires_grad(false)) : Tensor();
  for (int64_t rank = 0; rank < groups_.weights->world(); ++rank) {
    const FlatUnit::Range range = home.unit->range_of(part, rank);
    if (range.count == 0) {
      continue;
    }
    Tensor piece =
        rank == groups_.weights->rank() ? mine.detach() : at::empty({range.count}, mine.options().requires_grad(false));
    if (groups_.weights->world() > 1) {
      groups_.weights->broadcast(piece, rank);
    }
    if (is_main) {
      whole.view({-1}).narrow(0, range.first, range.count).copy_(piece);
    }
  }
  return whole;
}

Tensor ShardedParams::bring(int64_t kind, size_t index) {
  const at::NoGradGuard no_graph;
  if (!state_) {
    throw Error(ErrorKind::kRuntime, str_cat("parameter ", params_[index].name, " is read while other ranks hold it"),
                "sharded model", "it is used outside of its block");
  }
  send_order(kBring, kind, index);
  return exchange(kind, index);
}

/// Weights of the part that begins there, flat.
Tensor ShardedParams::fetch(const FlatUnit& unit, int64_t first) {
  for (const FlatUnit::Part& part : unit.parts()) {
    if (part.first == first) {
      return bring(0, part.param.index).view({-1});
    }
  }
  throw Error(ErrorKind::kRuntime, str_cat("no parameter begins at ", first), "sharded model");
}

Tensor ShardedParams::whole(int64_t kind, size_t index) {
  const Tensor mine = state_(kind, index);
  return absent_tensor(shares_[index].shape, mine.options().requires_grad(false),
                       [this, kind, index](int64_t, int64_t) { return bring(kind, index).view({-1}); });
}

}  // namespace flexor::dist
