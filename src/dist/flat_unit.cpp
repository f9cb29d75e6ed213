#include "dist/flat_unit.h"

#include <algorithm>
#include <torch/csrc/autograd/variable.h>
#include <utility>

#include "tensor/file_pages.h"
#include "tensor/large_buffer.h"
#include "tensor/tensor.h"

namespace flexor::dist {
namespace {

constexpr int64_t kAlignment = 512;  // bytes; what the most demanding device wants

/// The tensor itself if it has that dtype.
Tensor in_large_buffer(const Tensor& tensor, at::ScalarType dtype) {
  return tensor.scalar_type() == dtype ? tensor
                                       : large_zeros(tensor.numel(), tensor.options().dtype(dtype)).copy_(tensor);
}

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

FlatUnit::FlatUnit(const std::vector<ParamPlace>& params, const FlatOptions& options, ShardGroups groups, Group& world)
    : options_(options), groups_(std::move(groups)) {
  const at::NoGradGuard no_graph;
  const Tensor like = params.front().place->detach();
  const int64_t alignment = kAlignment / static_cast<int64_t>(like.element_size());
  const int64_t ranks = groups_.weights->world(), rank = groups_.weights->rank();
  int64_t size = 0;
  for (const ParamPlace& param : params) {
    parts_.push_back({param, param.place->sizes().vec(), size, param.place->numel()});
    size += round_up(param.place->numel(), alignment);
  }
  const int64_t n = round_up((size + ranks - 1) / ranks, alignment);
  flat_ = large_zeros(ranks * n, like.options());
  for (const Part& part : parts_) {
    flat_.narrow(0, part.first, part.count).copy_(part.param.place->detach().reshape({-1}));
    forget_file_pages(*part.param.place);
  }
  if (world.world() > 1) {
    world.broadcast(flat_);
  }
  for (const Part& part : parts_) {  // variable_data(): a version counter of its
                                     // own, so that refilling is no change
    *part.param.place =
        flat_.narrow(0, part.first, part.count).view(part.shape).variable_data().set_requires_grad(options_.trained);
  }
  shard_ = flat_.narrow(0, rank * n, n);
  if (options_.shard_weights) {
    const Tensor own = large_zeros(n, like.options());
    shard_ = own.copy_(shard_);
    release();
  }
}

int64_t FlatUnit::bytes() const {
  return flat_.numel() * static_cast<int64_t>(flat_.element_size());
}

FlatUnit::Range FlatUnit::range_of(const Part& part, int64_t rank) const {
  const int64_t begin = rank * shard_size(), end = begin + shard_size();
  const int64_t low = std::max(part.first, begin), high = std::min(part.first + part.count, end);
  return high > low ? Range{low - part.first, high - low, low - begin} : Range{};
}

ParamShare FlatUnit::share_of(const Part& part) const {
  const Range range = range_of(part, groups_.weights->rank());
  const Tensor values = shard_.narrow(0, range.offset, range.count).variable_data();
  return {part.param.name, part.shape, range.first, values.set_requires_grad(options_.trained)};
}

Tensor FlatUnit::gradient_of(const Part& part) const {
  const Range range = range_of(part, groups_.gradients->rank());
  return grad_shard_.narrow(0, range.offset, range.count);
}

bool FlatUnit::is_gathered() const {
  return is_gathering_ || !is_absent(flat_);
}

void FlatUnit::start_gather() {
  if (is_gathered()) {
    return;
  }
  allocate_storage(flat_);
  if (groups_.weights->world() == 1) {
    flat_.copy_(shard_);
  } else {
    gathering_ = groups_.weights->start_all_gather(shard_, flat_);
    is_gathering_ = true;
  }
}

void FlatUnit::all_gather_weights() {
  wait_gather();
  if (groups_.weights->world() > 1) {
    gathering_ = groups_.weights->start_all_gather(shard_, flat_);
    is_gathering_ = true;
  }
}

void FlatUnit::wait_gather() {
  if (is_gathering_) {
    gathering_.wait();
    gathering_ = Pending();
    is_gathering_ = false;
  }
}

void FlatUnit::release() {
  wait_gather();
  if (!is_absent(flat_)) {
    release_storage(flat_, options_.fetch);
  }
}

/// Undivided gradients that add up over micro batches do so in the dtype of their sum.
at::ScalarType FlatUnit::full_dtype() const {
  const bool wide = options_.keep_gradients && options_.sums_micro_batches && options_.has_masters;
  return wide ? at::kFloat : dtype();
}

void FlatUnit::add_gradient(size_t index, Tensor& grad) {
  const at::NoGradGuard no_graph;
  if (!full_grad_.defined()) {
    full_grad_ = large_zeros(flat_.numel(), flat_.options().dtype(full_dtype()));
  } else if (is_stale_) {
    full_grad_.zero_();
  }
  is_stale_ = false;
  Part& part = parts_[index];
  const Tensor target = full_grad_.narrow(0, part.first, part.count).view(part.shape);
  if (part.has_gradient) {
    target.add_(grad);
  } else {
    target.copy_(grad);  // adding to zero would lose the sign of a zero
  }
  part.has_gradient = true;
  grad.reset();
}

void FlatUnit::start_reduce() {
  const at::NoGradGuard no_graph;
  const bool is_empty = !full_grad_.defined() || is_stale_;  // this rank had no gradient here
  const Tensor mine = is_empty ? large_zeros(flat_.numel(), flat_.options().dtype(full_dtype())) : full_grad_;
  if (!options_.keep_gradients) {
    full_grad_.reset();
  }
  is_stale_ = true;  // what comes now belongs to the next sum
  for (Part& part : parts_) {
    part.has_gradient = false;
  }
  if (groups_.gradients->world() == 1) {
    received_ = mine;
  } else {
    received_ = large_zeros(mine.numel(), mine.options());
    reducing_ = groups_.gradients->start_all_to_all(mine, received_);
  }
  is_reducing_ = true;
}

/// The sum over the ranks in float32, in their order: shares travel in the dtype of the gradients without loss.
void FlatUnit::finish_reduce() {
  if (!is_reducing_) {
    return;
  }
  const at::NoGradGuard no_graph;
  reducing_.wait();
  reducing_ = Pending();  // lets go of its tensors
  is_reducing_ = false;
  const int64_t n = shard_size(), ranks = groups_.gradients->world();
  Tensor sum = large_zeros(n, received_.options().dtype(at::kFloat)).copy_(received_.narrow(0, 0, n));
  for (int64_t rank = 1; rank < ranks; ++rank) {
    sum.add_(received_.narrow(0, rank * n, n));
  }
  received_.reset();
  if (groups_.world > 1) {
    sum.div_(static_cast<double>(groups_.world));
  }
  if (!options_.has_masters && groups_.replicas == nullptr) {
    sum = in_large_buffer(sum, dtype());
  }
  if (grad_shard_.defined()) {
    grad_shard_.add_(sum);
  } else {
    grad_shard_ = sum;
  }
}

void FlatUnit::finish_step() {
  const at::NoGradGuard no_graph;
  if (groups_.replicas != nullptr && grad_shard_.defined()) {
    groups_.replicas->all_reduce(grad_shard_);
    grad_shard_ = grad_shard_.to(options_.has_masters ? at::kFloat : dtype());
  }
}

void FlatUnit::drop_gradients() {
  grad_shard_.reset();
}

}  // namespace flexor::dist
