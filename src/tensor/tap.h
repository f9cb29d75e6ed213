#pragma once
#include <ATen/core/Tensor.h>
#include <functional>
#include <string>
#include <string_view>

namespace flexor {

/// While one lives, tap() on this thread hands it every named tensor: how `flexor align record` sees inside a model.
/// Nests like a guard; the innermost recorder gets the tensors.
class TapRecorder {
 public:
  using Sink = std::function<void(std::string_view name, const at::Tensor& tensor)>;
  explicit TapRecorder(Sink sink);
  ~TapRecorder();
  TapRecorder(const TapRecorder&) = delete;
  TapRecorder& operator=(const TapRecorder&) = delete;

 private:
  friend void tap(std::string_view name, const at::Tensor& tensor);
  Sink sink_;
  TapRecorder* outer_;
};

/// Whether somebody listens: guards work that is only needed for a recording.
bool tap_active();

/// A point of instrumentation; costs one thread-local read when nobody listens.
void tap(std::string_view name, const at::Tensor& tensor);

}  // namespace flexor
