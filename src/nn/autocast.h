#pragma once
#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

namespace flexor::nn {

/// While one lives, matrix products on `device` run in bfloat16 whatever the dtype of weights and inputs (PyTorch's
/// autocast); does nothing when `enabled` is false. Casts of weights are kept until the outermost guard ends.
class AutocastGuard {
 public:
  AutocastGuard(c10::DeviceType device, bool enabled);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  c10::DeviceType device_;
  bool active_, enabled_before_;
  c10::ScalarType dtype_before_;
};

}  // namespace flexor::nn
