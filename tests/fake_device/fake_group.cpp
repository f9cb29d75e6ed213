#include "fake_group.h"

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "fake_device.h"

namespace fake {
namespace {

std::vector<at::Tensor> all_on_cpu(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> result;
  for (const at::Tensor& tensor : tensors) {
    result.push_back(on_cpu(tensor));
  }
  return result;
}

/// Collectives of the device by Gloo, on the same memory.
class Group final : public c10d::Backend {
 public:
  explicit Group(c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo)
      : Backend(gloo->getRank(), gloo->getSize()), gloo_(std::move(gloo)) {}

  const std::string getBackendName() const override { return "fake"; }
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    std::vector<at::Tensor> host = all_on_cpu(tensors);
    return gloo_->broadcast(host, options);
  }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    std::vector<at::Tensor> host = all_on_cpu(tensors);
    return gloo_->allreduce(host, options);
  }
  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::AllgatherOptions& options) override {
    at::Tensor to = on_cpu(output), from = on_cpu(input);
    return gloo_->_allgather_base(to, from, options);
  }
  c10::intrusive_ptr<c10d::Work> _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                      const c10d::ReduceScatterOptions& options) override {
    at::Tensor to = on_cpu(output), from = on_cpu(input);
    return gloo_->_reduce_scatter_base(to, from, options);
  }
  c10::intrusive_ptr<c10d::Work> alltoall_base(at::Tensor& output, at::Tensor& input,
                                               std::vector<int64_t>& output_splits, std::vector<int64_t>& input_splits,
                                               const c10d::AllToAllOptions& options) override {
    at::Tensor to = on_cpu(output), from = on_cpu(input);
    return gloo_->alltoall_base(to, from, output_splits, input_splits, options);
  }
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options) override {
    return gloo_->barrier(options);
  }

 private:
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;
};

}  // namespace

c10d::Backend* new_group(c10d::Store* store, int rank, int world, std::chrono::milliseconds timeout) {
  const auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  const auto kept = c10::intrusive_ptr<c10d::Store>::unsafe_reclaim_from_nonowning(store);
  return c10::make_intrusive<Group>(c10::make_intrusive<c10d::ProcessGroupGloo>(kept, rank, world, options)).release();
}

}  // namespace fake
