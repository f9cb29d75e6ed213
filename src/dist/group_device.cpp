#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "base/str_cat.h"
#include "device/backend.h"
#include "dist/group_c10d.h"
#include "tensor/tensor.h"

namespace flexor::dist {

void add_device_backend(Group::State& state, const c10::Device& device, const std::string& name) {
  const device::Backend* backend = device::opened_backend();
  if (backend == nullptr) {
    throw Error(ErrorKind::kRuntime, str_cat("no back end of ", device.str(), " is open"), state.where("start"));
  }
  const std::string collective = backend->collective();
  const auto own = c10::make_intrusive<c10d::PrefixStore>(str_cat(collective, "/", name), state.store);
  device::GroupPlan plan{.rank = state.rank,
                         .world = state.world,
                         .ranks = {state.world_ranks.begin(), state.world_ranks.end()},
                         .device = device.index(),
                         .name = name,
                         .timeout_ms = state.timeout().count()};
  const auto group = c10::intrusive_ptr<c10d::Backend>::reclaim(backend->new_group(*own, plan));
  const auto kind = c10d::ProcessGroup::strToBackendType(collective);
  state.pg->setBackend(device.type(), kind, group);
  state.pg->setGroupName(name);  // its back ends learn it too
  state.device = device;
}

void Group::use_device(const c10::Device& device) {
  if (device.is_cpu() || world() == 1 || state_->device == device) {
    return;
  }
  state_->guarded(str_cat("connection of the ranks on ", device.str()),
                  [&] { add_device_backend(*state_, device, state_->name); });
  // Back ends connect at the first collective: what is wrong shows here.
  const Tensor ones = at::ones({1}, at::TensorOptions().dtype(at::kFloat).device(device));
  all_reduce(ones);
  const auto sum = static_cast<double>(ones.cpu().item<float>());
  if (sum != static_cast<double>(world())) {
    throw Error(ErrorKind::kRuntime, str_cat("a first sum over ", world(), " ranks gives ", sum),
                state_->where("all_reduce"), "the collectives of this device do not work here");
  }
}

}  // namespace flexor::dist
