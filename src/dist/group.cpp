#include "dist/group.h"

#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/str_cat.h"
#include "dist/group_c10d.h"
#include "tensor/tensor.h"

namespace flexor::dist {
namespace {

c10d::ReduceOp to_c10d(ReduceOp op) {
  return op == ReduceOp::kSum ? c10d::ReduceOp::SUM : op == ReduceOp::kMax ? c10d::ReduceOp::MAX : c10d::ReduceOp::MIN;
}

}  // namespace

struct Pending::State {
  std::shared_ptr<Group::State> group;
  c10::intrusive_ptr<c10d::Work> work;
  std::vector<Tensor> tensors;
  std::string collective;
  bool done = false;

  void wait() {
    if (done) {
      return;
    }
    const double start = wall_seconds();
    group->guarded(collective, [&] { work->wait(); });
    group->fate->add_waited(wall_seconds() - start);
    done = true;
  }
};

Pending::Pending() = default;
Pending::Pending(std::shared_ptr<State> state) : state_(std::move(state)) {}
Pending::Pending(Pending&&) noexcept = default;
Pending& Pending::operator=(Pending&&) noexcept = default;

Pending::~Pending() {
  if (state_ && !state_->done && state_.use_count() == 1) {
    keep_for_good(std::move(state_->tensors));  // the group's threads may still use them
    keep_for_good(std::move(state_->work));
  }
}

void Pending::wait() {
  if (state_) {
    state_->wait();
  }
}

Group::Group(std::shared_ptr<State> state) : state_(std::move(state)) {}

Group::~Group() {
  state_->abandon();
}

int64_t Group::rank() const {
  return state_->rank;
}
int64_t Group::world() const {
  return state_->world;
}
const Launch& Group::launch() const {
  return state_->launch;
}
void Group::set_label(const std::string& label, const std::string& way_on) {
  state_->fate->set_label(label, way_on);
}
double Group::waited_s() const {
  return state_->fate->waited_s();
}
void Group::report_failure(const std::string& reason) noexcept {
  state_->fate->report_failure(reason);
}

namespace {

/// Starts a collective; @param body  gives the work of c10d
template <typename Body>
Pending start(const std::shared_ptr<Group::State>& group, const char* collective, std::vector<Tensor> tensors,
              Body body) {
  auto state = std::make_shared<Pending::State>();
  state->group = group;
  state->collective = collective;
  state->tensors = std::move(tensors);
  state->work = group->guarded(collective, [&] { return body(state->tensors); });
  return Pending(std::move(state));
}

}  // namespace

Pending Group::start_all_reduce(Tensor tensor, ReduceOp op) {
  if (world() == 1) {
    return {};
  }
  return start(state_, "all_reduce", {std::move(tensor)}, [&](std::vector<Tensor>& tensors) {
    c10d::AllreduceOptions options;
    options.reduceOp = to_c10d(op);
    options.timeout = state_->timeout();
    return state_->pg->allreduce(tensors, options);
  });
}

Pending Group::start_all_gather(const Tensor& input, Tensor output) {
  if (world() == 1) {
    if (output.data_ptr() != input.data_ptr()) {
      output.view(-1).copy_(input.view(-1));
    }
    return {};
  }
  return start(state_, "all_gather", {std::move(output), input}, [&](std::vector<Tensor>& tensors) {
    c10d::AllgatherOptions options;
    options.timeout = state_->timeout();
    return state_->pg->all_gather_single(tensors[0], tensors[1], options);
  });
}

Pending Group::start_reduce_scatter(Tensor input, Tensor output, ReduceOp op) {
  if (world() == 1) {
    if (output.data_ptr() != input.data_ptr()) {
      output.view(-1).copy_(input.view(-1));
    }
    return {};
  }
  return start(state_, "reduce_scatter", {std::move(output), std::move(input)}, [&](std::vector<Tensor>& tensors) {
    c10d::ReduceScatterOptions options;
    options.reduceOp = to_c10d(op);
    options.timeout = state_->timeout();
    return state_->pg->reduce_scatter_single(tensors[0], tensors[1], options);
  });
}

Pending Group::start_all_to_all(Tensor input, Tensor output) {
  if (world() == 1) {
    output.view(-1).copy_(input.view(-1));
    return {};
  }
  return start(state_, "all_to_all", {std::move(output), std::move(input)}, [&](std::vector<Tensor>& tensors) {
    c10d::AllToAllOptions options;
    options.timeout = state_->timeout();
    std::vector<int64_t> equal_parts;
    return state_->pg->all_to_all_single(tensors[0], tensors[1], equal_parts, equal_parts, options);
  });
}

void Group::all_reduce(Tensor tensor, ReduceOp op) {
  start_all_reduce(std::move(tensor), op).wait();
}

void Group::all_gather(const Tensor& input, Tensor output) {
  start_all_gather(input, std::move(output)).wait();
}

void Group::reduce_scatter(Tensor input, Tensor output, ReduceOp op) {
  start_reduce_scatter(std::move(input), std::move(output), op).wait();
}

void Group::broadcast(Tensor tensor, int64_t root) {
  if (world() > 1) {
    start(state_, "broadcast", {std::move(tensor)}, [&](std::vector<Tensor>& tensors) {
      c10d::BroadcastOptions options;
      options.rootRank = root;
      options.timeout = state_->timeout();
      return state_->pg->broadcast(tensors, options);
    }).wait();
  }
}

double Group::all_reduce(double value, ReduceOp op) {
  const Tensor number = at::scalar_tensor(value, at::kDouble).reshape({1});
  all_reduce(number, op);
  return number.item<double>();
}

void Group::barrier() {
  if (world() > 1) {
    start(state_, "barrier", {}, [&](std::vector<Tensor>&) {
      c10d::BarrierOptions options;
      options.timeout = state_->timeout();
      return state_->pg->barrier(options);
    }).wait();
  }
}

std::vector<std::string> Group::gather_bytes(const std::string& mine) {
  const auto bytes = [](int64_t n) { return at::zeros({n}, at::TensorOptions().dtype(at::kByte)); };
  const auto longest = static_cast<int64_t>(all_reduce(static_cast<double>(mine.size()), ReduceOp::kMax));
  constexpr int64_t kHeader = sizeof(uint64_t);
  const int64_t slice = kHeader + longest;
  const Tensor input = bytes(slice), output = bytes(slice * world());
  const uint64_t length = mine.size();
  std::memcpy(input.mutable_data_ptr<uint8_t>(), &length, kHeader);
  std::memcpy(input.mutable_data_ptr<uint8_t>() + kHeader, mine.data(), mine.size());
  all_gather(input, output);
  std::vector<std::string> all;
  for (int64_t r = 0; r < world(); ++r) {
    const uint8_t* from = output.const_data_ptr<uint8_t>() + r * slice;
    uint64_t size = 0;
    std::memcpy(&size, from, kHeader);
    all.emplace_back(reinterpret_cast<const char*>(from) + kHeader, size);
  }
  return all;
}

}  // namespace flexor::dist
