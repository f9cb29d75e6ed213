#include "train/live_bytes.h"

#include "tensor/absent.h"
#include "tensor/tensor.h"

namespace flexor::train {
namespace {

int64_t bytes_of(const Tensor& tensor) {
  return tensor.defined() && !is_absent(tensor) ? static_cast<int64_t>(tensor.nbytes()) : 0;
}

}  // namespace

std::vector<device::LiveBytes> live_bytes(const optim::AdamW& optimizer, const optim::Ema* ema) {
  device::LiveBytes weights{.what = "weights"}, gradients{.what = "gradients"}, masters{.what = "masters"},
      moments{.what = "moments"}, averages{.what = "averages"};
  for (const optim::Slot& slot : optimizer.slots()) {
    weights.bytes += bytes_of(slot.param);
    gradients.bytes += bytes_of(slot.param.grad()) + bytes_of(slot.grad32);
    masters.bytes += bytes_of(slot.master);
    moments.bytes += bytes_of(slot.exp_avg) + bytes_of(slot.exp_avg_sq);
  }
  if (ema != nullptr) {
    for (const auto& [name, average] : ema->averages()) {
      averages.bytes += bytes_of(average);
    }
  }
  return {weights, gradients, masters, moments, averages};
}

}  // namespace flexor::train
