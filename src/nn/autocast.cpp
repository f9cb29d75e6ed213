#include "nn/autocast.h"

#include <ATen/autocast_mode.h>

namespace flexor::nn {

AutocastGuard::AutocastGuard(c10::DeviceType device, bool enabled)
    : device_(device),
      active_(enabled),
      enabled_before_(at::autocast::is_autocast_enabled(device)),
      dtype_before_(at::autocast::get_autocast_dtype(device)) {
  if (active_) {
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::increment_nesting();
  }
}

AutocastGuard::~AutocastGuard() {
  if (active_) {
    if (at::autocast::decrement_nesting() == 0) {
      at::autocast::clear_cache();
    }
    at::autocast::set_autocast_enabled(device_, enabled_before_);
    at::autocast::set_autocast_dtype(device_, dtype_before_);
  }
}

}  // namespace flexor::nn
