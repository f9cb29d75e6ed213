#include "dist/data_parallel.h"

#include <algorithm>
#include <map>
#include <torch/csrc/autograd/autograd.h>
#include <utility>

#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "base/error.h"
#include "base/str_cat.h"
#include "dist/group_c10d.h"
#include "dist/same_weights.h"
#include "tensor/tensor.h"

namespace flexor::dist {
namespace {

/// A bucket under way.
struct Sum {
  std::vector<size_t> params;  ///< whose gradients stand in `buffer`, one after the other
  Tensor buffer;
  bool is_own = false;  ///< not the Reducer's: the gradients are slices of `buffer`
  Pending pending;
};

/// Which parameters a backward pass reaches. Hooks on parameters outlive the one who put them there.
struct Watch {
  bool is_on = false;
  std::vector<uint8_t> reached;
};

/// What is trained in turns; one c10d::Reducer each.
struct Branch {
  std::vector<size_t> members;  ///< parameters that have had a gradient, ascending
  std::shared_ptr<c10d::Reducer> reducer;
};

}  // namespace

struct DataParallel::State {
  std::shared_ptr<Group> group;
  std::vector<std::pair<std::string, Tensor>> params;
  DataParallelOptions options;
  std::map<const c10::TensorImpl*, size_t> index_of;
  std::map<int64_t, Branch> branches;

  Branch* branch = nullptr;  ///< of the step
  std::vector<Tensor> sums;  ///< of the earlier micro batches
  bool in_float32 = false;
  std::shared_ptr<Watch> watch = std::make_shared<Watch>();
  std::vector<Sum> under_way;
  std::vector<Tensor> means;

  void watch_all();
  void start(Sum sum);
  Tensor local(size_t i) const;
  void reduce_plainly(const std::vector<size_t>& indices);
  void feed_missing();
  void make_reducer();
  void collect();
};

namespace {

/// The Reducer hands over its full buckets here. What it gets back is done at once: DataParallel waits by itself, so
/// that a failure names rank and step, and no destructor waits for ranks that are gone.
class BucketHook final : public c10d::CommHookInterface {
 public:
  using Run = std::function<void(const std::vector<Tensor>& params, const std::vector<Tensor>& grads, Tensor buffer)>;
  explicit BucketHook(Run run) : run_(std::move(run)) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    run_(bucket.getParameters(), bucket.getGradients(), bucket.getBufferRef());
    auto done = c10::make_intrusive<c10::ivalue::Future>(c10::TensorType::get());
    done->markCompleted(bucket.getBufferRef());
    return done;
  }
  Tensor parseHookResult(const c10::IValue& result) override { return result.toTensor(); }

 private:
  Run run_;
};

}  // namespace

void DataParallel::State::watch_all() {
  watch->reached.assign(params.size(), 0);
  for (size_t i = 0; i < params.size(); ++i) {
    index_of[params[i].second.unsafeGetTensorImpl()] = i;
    params[i].second.register_hook([seen = watch, i](const Tensor&) {
      if (seen->is_on) {
        seen->reached[i] = 1;
      }
    });
  }
}

void DataParallel::State::start(Sum sum) {
  const at::NoGradGuard no_graph;
  sum.buffer.div_(static_cast<double>(group->world()));
  sum.pending = group->start_all_reduce(sum.buffer);
  under_way.push_back(std::move(sum));
}

/// This rank's gradient of the step, undefined without one.
Tensor DataParallel::State::local(size_t i) const {
  const Tensor& grad = params[i].second.grad();
  if (!sums[i].defined()) {
    return grad;
  }
  return grad.defined() ? sums[i] + grad : sums[i];
}

/// After the backward pass, bucket by bucket.
void DataParallel::State::reduce_plainly(const std::vector<size_t>& indices) {
  const at::NoGradGuard no_graph;
  std::map<at::ScalarType, Sum> open;
  std::map<at::ScalarType, std::vector<Tensor>> parts;
  std::map<at::ScalarType, int64_t> bytes;
  const auto close = [&](at::ScalarType dtype) {
    Sum& sum = open[dtype];
    sum.buffer = at::cat(parts[dtype]);
    sum.is_own = true;
    start(std::exchange(sum, {}));
    parts[dtype].clear();
    bytes[dtype] = 0;
  };
  for (const size_t i : indices) {
    const Tensor& param = params[i].second;
    const at::ScalarType dtype = in_float32 ? at::kFloat : param.scalar_type();
    const Tensor mine = local(i);
    parts[dtype].push_back(mine.defined() ? mine.reshape({-1}).to(dtype)
                                          : at::zeros({param.numel()}, param.options().dtype(dtype)));
    open[dtype].params.push_back(i);
    bytes[dtype] += static_cast<int64_t>(parts[dtype].back().nbytes());
    if (bytes[dtype] >= options.bucket_bytes) {
      close(dtype);
    }
  }
  for (const auto& [dtype, count] : std::map(bytes)) {
    if (count > 0) {
      close(dtype);
    }
  }
}

/// Parameters that this backward pass left out get a gradient of zeros through autograd: the Reducer waits for all.
void DataParallel::State::feed_missing() {
  Tensor nothing;
  for (const size_t i : branch->members) {
    if (watch->reached[i] == 0) {
      const Tensor empty = params[i].second.reshape({-1}).narrow(0, 0, 0).sum().to(at::kFloat);
      nothing = nothing.defined() ? nothing + empty : empty;
    }
  }
  if (nothing.defined()) {
    torch::autograd::backward({nothing}, {});
  }
}

void DataParallel::State::make_reducer() {
  branch->reducer.reset();
  std::vector<Tensor> members;
  std::unordered_map<size_t, std::string> names;
  for (const size_t i : branch->members) {
    params[i].second.mutable_grad().reset();  // what was reduced stands in `means`
    names[members.size()] = params[i].first;
    members.push_back(params[i].second);
  }
  if (members.empty()) {
    return;
  }
  const std::vector<bool> sparse(members.size(), false);
  auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(
      members, {static_cast<size_t>(options.first_bucket_bytes), static_cast<size_t>(options.bucket_bytes)}, sparse);
  std::ranges::reverse(buckets);  // gradients of the last layers come first
  branch->reducer = std::make_shared<c10d::Reducer>(
      members, buckets, group->state().pg, sparse, options.bucket_bytes, /*find_unused_parameters=*/false,
      /*gradient_as_bucket_view=*/true, names, options.first_bucket_bytes, /*skip_all_reduce_unused_params=*/false,
      /*use_python_reducer=*/false, /*bucket_bytes_cap_list=*/std::vector<int64_t>{});
  branch->reducer->register_comm_hook(std::make_unique<BucketHook>(
      [this](const std::vector<Tensor>& bucket_params, const std::vector<Tensor>& grads, const Tensor& buffer) {
        const at::NoGradGuard no_graph;
        Sum sum;
        sum.buffer = buffer;
        for (const Tensor& param : bucket_params) {
          sum.params.push_back(index_of.at(param.unsafeGetTensorImpl()));
        }
        if (in_float32 && buffer.scalar_type() == at::kFloat) {
          for (size_t k = 0; k < grads.size(); ++k) {
            if (const Tensor& earlier = sums[sum.params[k]]; earlier.defined()) {
              Tensor(grads[k]).add_(earlier);
            }
          }
        } else if (in_float32) {
          std::vector<Tensor> parts;
          for (size_t k = 0; k < grads.size(); ++k) {
            const Tensor& earlier = sums[sum.params[k]];
            const Tensor grad = grads[k].reshape({-1}).to(at::kFloat);
            parts.push_back(earlier.defined() ? earlier.reshape({-1}) + grad : grad);
          }
          sum.buffer = at::cat(parts);
          sum.is_own = true;
        }
        start(std::move(sum));
      }));
}

/// Waits, and cuts buckets into gradients.
void DataParallel::State::collect() {
  for (Sum& sum : under_way) {
    sum.pending.wait();
    int64_t offset = 0;
    for (const size_t i : sum.params) {
      const Tensor& param = params[i].second;
      if (sum.is_own) {
        means[i] = sum.buffer.narrow(0, offset, param.numel()).view(param.sizes());
        offset += param.numel();
      } else {
        means[i] = param.grad();  // a view of the bucket
      }
    }
  }
  under_way.clear();
}

DataParallel::DataParallel(std::shared_ptr<Group> group, std::vector<std::pair<std::string, Tensor>> params,
                           const DataParallelOptions& options)
    : state_(std::make_unique<State>()) {
  state_->group = std::move(group);
  state_->params = std::move(params);
  state_->options = options;
  check_same_weights(*state_->group, state_->params);
  state_->watch_all();
}

DataParallel::~DataParallel() = default;

void DataParallel::begin(int64_t branch, std::vector<Tensor> sums, bool in_float32) {
  State& s = *state_;
  s.branch = &s.branches[branch];
  s.sums = std::move(sums);
  s.sums.resize(s.params.size());
  s.in_float32 = in_float32;
  std::ranges::fill(s.watch->reached, 0);
  s.means.assign(s.params.size(), Tensor());
  s.watch->is_on = true;
  if (s.branch->reducer) {
    s.group->state().guarded("agreement on buckets", [&] {
      s.branch->reducer->rebuild_buckets();
      s.branch->reducer->prepare_for_backward({});
    });
  }
}

std::vector<Tensor> DataParallel::finish() {
  State& s = *state_;
  s.watch->is_on = false;
  // Before anything is fed: who has a gradient at all.
  const Tensor present = at::zeros({static_cast<int64_t>(s.params.size())}, at::TensorOptions().dtype(at::kByte));
  uint8_t* is_present = present.mutable_data_ptr<uint8_t>();
  for (size_t i = 0; i < s.params.size(); ++i) {
    is_present[i] = s.params[i].second.grad().defined() || s.sums[i].defined() ? 1 : 0;
  }
  if (s.branch->reducer) {
    s.feed_missing();
  }
  s.group->all_reduce(present, ReduceOp::kMax);
  std::vector<size_t> strangers;
  for (size_t i = 0; i < s.params.size(); ++i) {
    if (is_present[i] != 0 && !std::ranges::binary_search(s.branch->members, i)) {
      strangers.push_back(i);
    }
  }
  s.reduce_plainly(strangers);
  s.collect();
  if (!strangers.empty()) {
    s.branch->members.insert(s.branch->members.end(), strangers.begin(), strangers.end());
    std::ranges::sort(s.branch->members);
    s.make_reducer();
  }
  for (size_t i = 0; i < s.params.size(); ++i) {
    if (is_present[i] == 0) {
      s.means[i].reset();
    }
  }
  s.sums.clear();
  return std::move(s.means);
}

}  // namespace flexor::dist
